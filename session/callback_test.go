package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// cookieUser knows users by a cookie, as a web program does.
func cookieUser(r *http.Request) (string, error) {
	c, err := r.Cookie("user")
	if err != nil {
		return "", errors.New("no cookie")
	}
	return c.Value, nil
}

// arrive has a browser come to a callback handler, with the cookie of a user if
// user is not empty.
func arrive(t *testing.T, h http.Handler, method, callback, user string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, callback, nil)
	if user != "" {
		r.AddCookie(&http.Cookie{Name: "user", Value: user})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	resp := w.Result()
	assert.Equal(t, resp.Header.Get("Cache-Control"), "no-store", "Cache-Control")
	assert.Equal(t, resp.Header.Get("Referrer-Policy"), "no-referrer", "Referrer-Policy")
	assert.True(t, strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none';"), "Content-Security-Policy")
	return resp
}

// checkPage looks for a status and a title, and for what is not to be shown.
func checkPage(t *testing.T, what string, resp *http.Response, status int, title string, secrets ...string) {
	t.Helper()
	body := assert.Value(io.ReadAll(resp.Body))(t)
	assert.Equal(t, resp.StatusCode, status, "%s: status", what)
	assert.Contains(t, string(body), "<h1>"+title+"</h1>", "%s: page", what)
	all := string(body) + fmt.Sprint(resp.Header)
	for _, secret := range secrets {
		assert.Lacks(t, all, secret, "%s: the answer shows %q", what, secret)
	}
}

func TestCallbackHandler(t *testing.T) {
	env := newEnv(t, nil, nil)
	var log bytes.Buffer
	m := env.manager(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h := m.CallbackHandler(&CallbackOptions{User: cookieUser})
	ann := Key{User: "ann", Server: "s"}
	l, callback := env.begin(m, ann)
	u := assert.Value(url.Parse(callback))(t)
	secrets := []string{u.Query().Get("code"), u.Query().Get("state"), "canary"}

	// Nothing of this uses the login up, or reaches the authorization server.
	before := len(env.as.Requests())
	junk := "/callback?code=canary&state=canary&error=canary&error_description=canary"
	checkPage(t, "no user", arrive(t, h, "GET", callback, ""), 403, "Not logged in", secrets...)
	checkPage(t, "another user", arrive(t, h, "GET", callback, "eve"), 403, "Not logged in", secrets...)
	checkPage(t, "no login", arrive(t, h, "GET", junk, "ann"), 400, "Not logged in", secrets...)
	checkPage(t, "no state", arrive(t, h, "GET", "/callback?code=canary", "ann"), 400, "Not logged in", secrets...)
	checkPage(t, "two states", arrive(t, h, "GET", callback+"&state=canary", "ann"), 400, "Not logged in", secrets...)
	for _, method := range []string{"POST", "HEAD", "PUT"} {
		resp := arrive(t, h, method, callback, "ann")
		assert.Equal(t, resp.StatusCode, http.StatusMethodNotAllowed, "%s: status", method)
		assert.Equal(t, resp.Header.Get("Allow"), "GET", "%s: Allow", method)
	}
	assert.Equal(t, len(env.as.Requests()), before, "requests")

	checkPage(t, "the user", arrive(t, h, "GET", u.RequestURI(), "ann"), 200, "Logged in", secrets...)
	assert.OK(t, l.Wait(env.ctx))
	env.mustCall(m, ann)
	checkPage(t, "once more", arrive(t, h, "GET", callback, "ann"), 400, "Not logged in", secrets...)
	env.mustCall(m, ann)
	assert.LacksAll(t, log.String(), env.as.Secrets()...)
	assert.Contains(t, log.String(), "login not completed", "log")
}

// A program says who may complete the logins that are not a user's own, such as those that
// all share.
func TestCallbackHandlerAllow(t *testing.T) {
	env, m := withManager(t, nil, nil)
	shared := Key{Server: "s"}
	_, callback := env.begin(m, shared)
	_, bobs := env.begin(m, bob)
	h := m.CallbackHandler(&CallbackOptions{User: cookieUser, Allow: func(r *http.Request, key Key) bool {
		user, err := cookieUser(r)
		return err == nil && user == "root" && key == shared
	}})
	tests := []struct {
		what, callback, user string
		status               int
		title                string
	}{
		{"no user, of all", callback, "", 403, "Not logged in"},
		{"a user, of all", callback, "ann", 403, "Not logged in"},
		{"the administrator, of a user", bobs, "root", 403, "Not logged in"},
		{"the administrator, of all", callback, "root", 200, "Logged in"},
		{"the user, of the user", bobs, "bob", 200, "Logged in"},
	}
	for _, test := range tests {
		checkPage(t, test.what, arrive(t, h, "GET", test.callback, test.user), test.status, test.title)
	}
	env.mustCall(m, shared)
}

// The browser may come back to another process than the one that sent it away.
func TestCallbackHandlerElsewhere(t *testing.T) {
	env := newEnv(t, nil, nil)
	key := Key{Server: "s"}
	here, there := env.manager(nil), env.manager(nil)
	l, callback := env.begin(here, key)
	checkPage(t, "the user", arrive(t, there.CallbackHandler(nil), "GET", callback, ""), 200, "Logged in")
	assert.OK(t, l.Wait(env.ctx))
	env.mustCall(here, key)
}

// Without a way to know users there is only the one without a name.
func TestCallbackHandlerOneUser(t *testing.T) {
	env, m := withManager(t, nil, nil)
	_, callback := env.begin(m, Key{User: "ann", Server: "s"})
	checkPage(t, "another", arrive(t, m.CallbackHandler(nil), "GET", callback, ""), 403, "Not logged in")
	assert.OK(t, env.complete(m, callback))
}

func TestCallbackHandlerFails(t *testing.T) {
	//report: Logins | smart-mcp-proxy/mcpproxy-go#1067 | the page that the browser comes back to says that all went well whatever became of the code | it says whether the user is logged in
	env, m := withManager(t, nil, nil)
	h := m.CallbackHandler(nil)
	key := Key{Server: "s"}
	denied := assert.Value(env.as.Deny(env.ctx, assert.Value(m.Login(env.ctx, key))(t).URL))(t)
	checkPage(t, "denied", arrive(t, h, "GET", denied, ""), 403, "Not logged in", "access_denied")

	_, refused := env.begin(m, key)
	env.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: http.StatusBadRequest, Body: `{"error":"invalid_grant"}`})
	checkPage(t, "refused", arrive(t, h, "GET", refused, ""), 502, "Not logged in", "invalid_grant")

	_, closed := env.begin(m, key)
	assert.OK(t, m.Close())
	checkPage(t, "closed", arrive(t, h, "GET", closed, ""), 503, "Not logged in")
}

// A program has a page of its own.
func TestCallbackHandlerRedirects(t *testing.T) {
	env, m := withManager(t, nil, nil)
	h := m.CallbackHandler(&CallbackOptions{SuccessURL: "https://app.example/in?x=1"})
	_, callback := env.begin(m, Key{Server: "s"})
	resp := arrive(t, h, "GET", callback, "")
	assert.Equal(t, resp.StatusCode, http.StatusSeeOther, "status")
	assert.Equal(t, resp.Header.Get("Location"), "https://app.example/in?x=1", "Location")
}

func ExampleManager_CallbackHandler() {
	manager, err := NewManager(Memory(), &Options{
		Config:      func(Key) (*auth.Config, error) { return &auth.Config{URL: "https://notes.example/mcp"}, nil },
		RedirectURL: "https://app.example/login/callback",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer manager.Close()
	web := http.NewServeMux()
	web.Handle("/login/callback", manager.CallbackHandler(&CallbackOptions{
		User: func(r *http.Request) (string, error) {
			user, _, ok := r.BasicAuth() // whatever the program does to know its users
			if !ok {
				return "", errors.New("nobody")
			}
			return user, nil
		},
		SuccessURL: "/settings/servers",
	}))
	w := httptest.NewRecorder()
	web.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/login/callback?code=1&state=guessed", nil))
	fmt.Println(w.Code)
	// Output:
	// 403
}
