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
	assert.Equal(t, strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none';"), true, "Content-Security-Policy")
	return resp
}

// checkPage looks for a status and a title, and for what is not to be shown.
func checkPage(t *testing.T, what string, resp *http.Response, status int, title string, secrets ...string) {
	t.Helper()
	body := assert.Value(io.ReadAll(resp.Body))(t)
	assert.Equal(t, resp.StatusCode, status, "%s: status", what)
	assert.Contains(t, string(body), "<h1>"+title+"</h1>", "%s: status", what)
	all := string(body) + fmt.Sprint(resp.Header)
	for _, secret := range secrets {
		assert.Lacks(t, all, secret, "%s: the answer shows %q", what, secret)
	}
}

// begin begins a login and approves it: the callback is where the browser is sent.
func (w *world) begin(m *Manager, key Key) (l *Login, callback string) {
	w.t.Helper()
	l, err := m.Login(w.ctx, key)
	assert.OK(w.t, err)
	callback, err = w.as.Approve(w.ctx, l.URL)
	assert.OK(w.t, err)
	return l, callback
}

func TestCallbackHandler(t *testing.T) {
	w := newWorld(t, nil, nil)
	var log bytes.Buffer
	m := w.manager(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h := m.CallbackHandler(&CallbackOptions{User: cookieUser})
	ann := Key{User: "ann", Server: "s"}
	l, callback := w.begin(m, ann)
	u := assert.Value(url.Parse(callback))(t)
	secrets := []string{u.Query().Get("code"), u.Query().Get("state"), "canary"}

	// Nothing of this uses the login up, or reaches the authorization server.
	before := len(w.as.Requests())
	junk := "/callback?code=canary&state=canary&error=canary&error_description=canary"
	checkPage(t, "nobody", arrive(t, h, "GET", callback, ""), 403, "Not logged in", secrets...)
	checkPage(t, "somebody else", arrive(t, h, "GET", callback, "eve"), 403, "Not logged in", secrets...)
	checkPage(t, "no login", arrive(t, h, "GET", junk, "ann"), 400, "Not logged in", secrets...)
	checkPage(t, "no state", arrive(t, h, "GET", "/callback?code=canary", "ann"), 400, "Not logged in", secrets...)
	checkPage(t, "two states", arrive(t, h, "GET", callback+"&state=canary", "ann"), 400, "Not logged in", secrets...)
	for _, method := range []string{"POST", "HEAD", "PUT"} {
		resp := arrive(t, h, method, callback, "ann")
		assert.Equal(t, [...]any{resp.StatusCode, resp.Header.Get("Allow")}, [...]any{http.StatusMethodNotAllowed, "GET"}, "%s: status", method)
	}
	assert.Equal(t, len(w.as.Requests()), before)

	checkPage(t, "the user", arrive(t, h, "GET", u.RequestURI(), "ann"), 200, "Logged in", secrets...)
	assert.OK(t, l.Wait(w.ctx))
	w.mustCall(m, ann)
	checkPage(t, "once more", arrive(t, h, "GET", callback, "ann"), 400, "Not logged in", secrets...)
	w.mustCall(m, ann)
	for _, secret := range w.as.Secrets() {
		assert.Lacks(t, log.String(), secret, "a secret was logged")
	}
	assert.Contains(t, log.String(), "login not completed", "nothing was logged")
}

// A program says who may complete the logins that are not a user's own, such as those that
// all share.
func TestCallbackHandlerAllow(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	shared := Key{Server: "s"}
	_, callback := w.begin(m, shared)
	_, bobs := w.begin(m, Key{User: "bob", Server: "s"})
	h := m.CallbackHandler(&CallbackOptions{User: cookieUser, Allow: func(r *http.Request, key Key) bool {
		user, err := cookieUser(r)
		return err == nil && user == "root" && key == shared
	}})
	tests := []struct {
		what, callback, user string
		status               int
		title                string
	}{
		{"nobody, of all", callback, "", 403, "Not logged in"},
		{"a user, of all", callback, "ann", 403, "Not logged in"},
		{"the administrator, of a user", bobs, "root", 403, "Not logged in"},
		{"the administrator, of all", callback, "root", 200, "Logged in"},
		{"the user, of the user", bobs, "bob", 200, "Logged in"},
	}
	for _, test := range tests {
		checkPage(t, test.what, arrive(t, h, "GET", test.callback, test.user), test.status, test.title)
	}
	w.mustCall(m, shared)
}

// The browser may come back to another process than the one that sent it away.
func TestCallbackHandlerElsewhere(t *testing.T) {
	w := newWorld(t, nil, nil)
	key := Key{Server: "s"}
	here, there := w.manager(nil), w.manager(nil)
	l, callback := w.begin(here, key)
	checkPage(t, "the user", arrive(t, there.CallbackHandler(nil), "GET", callback, ""), 200, "Logged in")
	assert.OK(t, l.Wait(w.ctx))
	w.mustCall(here, key)
}

// Without a way to know users there is only the one without a name.
func TestCallbackHandlerOneUser(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	_, callback := w.begin(m, Key{User: "ann", Server: "s"})
	checkPage(t, "another", arrive(t, m.CallbackHandler(nil), "GET", callback, ""), 403, "Not logged in")
	assert.Value(m.Complete(w.ctx, callback, nil))(t)
}

func TestCallbackHandlerFails(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	h := m.CallbackHandler(nil)
	login := func(visit func(l *Login) (string, error)) string {
		t.Helper()
		l := assert.Value(m.Login(w.ctx, Key{Server: "s"}))(t)
		return assert.Value(visit(l))(t)
	}
	approve := func(l *Login) (string, error) { return w.as.Approve(w.ctx, l.URL) }
	denied := login(func(l *Login) (string, error) { return w.as.Deny(w.ctx, l.URL) })
	checkPage(t, "denied", arrive(t, h, "GET", denied, ""), 403, "Not logged in", "access_denied")

	refused := login(approve)
	w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: http.StatusBadRequest, Code: "invalid_grant"})
	checkPage(t, "refused", arrive(t, h, "GET", refused, ""), 502, "Not logged in", "invalid_grant")

	closed := login(approve)
	assert.OK(t, m.Close())
	checkPage(t, "closed", arrive(t, h, "GET", closed, ""), 503, "Not logged in")
}

// A program has pages of its own.
func TestCallbackHandlerRedirects(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	h := m.CallbackHandler(&CallbackOptions{SuccessURL: "https://app.example/in?x=1", FailureURL: "/out"})
	_, callback := w.begin(m, Key{Server: "s"})
	for _, test := range []struct{ callback, want string }{
		{"/callback?code=canary&state=canary", "/out"},
		{callback, "https://app.example/in?x=1"},
		{callback, "/out"},
	} {
		resp := arrive(t, h, "GET", test.callback, "")
		assert.Equal(t, [...]any{resp.StatusCode, resp.Header.Get("Location")}, [...]any{http.StatusSeeOther, test.want}, "status")
	}
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
