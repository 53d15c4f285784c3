//go:build integration && unix

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/transport"
)

// logIn fills in the provider's page for logins, and waits for the one that asks for
// consent.
func logIn(p *chromium.Tab, user string) {
	p.Helper()
	p.Fill("input[name=login]", user)
	p.Fill("input[name=password]", "secret")
	p.Click("button[type=submit]")
	p.Await("input[name=prompt][value=consent]")
}

// anybody is the user of a program that has only one.
func anybody() session.Key { return session.Key{Server: "notes"} }

// An app is one run of a program that uses the notes server.
type app struct {
	store   *seal.Store
	manager *session.Manager
	client  *mcp.Client
}

// start starts the program with the sessions that were kept in a folder.
func (n *notes) start(t *testing.T, dir string, prompt auth.Prompt) *app {
	t.Helper()
	store := assert.Value(filestore.Open(ctxFor(t), dir, nil))(t)
	config := &auth.Config{Server: "notes", URL: n.url, Registration: auth.Registration{ClientName: "integration test"}}
	manager := assert.Value(session.NewManager(store, &session.Options{
		Config: func(session.Key) (*auth.Config, error) { return config, nil },
		Prompt: prompt,
	}))(t)
	r := &app{store, manager, mcp.NewClient("notes", &transport.HTTP{URL: n.url, OAuth: manager.Handler(anybody())}, nil)}
	t.Cleanup(func() { r.stop(t) })
	return r
}

// stop ends the program. It may have ended already.
func (r *app) stop(t *testing.T) {
	t.Helper()
	assert.Equal(t, errors.Join(r.client.Close(), r.manager.Close(), r.store.Close()), nil, "Close")
}

// login logs in and waits until that is done.
func (r *app) login(t *testing.T) error {
	t.Helper()
	return assert.Value(r.manager.Login(ctxFor(t), anybody()))(t).Wait(ctxFor(t))
}

// whoami calls the server's tool.
func (r *app) whoami(t *testing.T) string {
	t.Helper()
	return text(assert.Value(r.client.CallTool(ctxFor(t), "whoami", nil, nil))(t))
}

// TestLogin logs in at a real authorization server with a real browser, has the
// tokens renewed, starts anew with what was kept, and logs out.
func TestLogin(t *testing.T) {
	n := serveNotes(t)
	browser := chromium.Start(t)
	dir := filepath.Join(t.TempDir(), "sessions")
	tabs := make(chan *chromium.Tab, 1)
	prompt := &auth.Loopback{Out: io.Discard, Open: func(_ context.Context, url string) error {
		tabs <- browser.Open(t, url)
		return nil
	}}
	first := n.start(t, dir, prompt)

	// The server wants a login, and nobody waits for a human.
	_, err := first.client.CallTool(ctxFor(t), "whoami", nil, nil)
	required := assert.As[*auth.LoginRequiredError](t, err, "before the login")
	assert.Contains(t, required.URL, n.provider.issuer+"/")
	page := <-tabs
	logIn(page, "ann")
	shown := page.Text()
	assert.Contains(t, shown, "notes:read", "the user is asked to agree to")
	assert.Contains(t, shown, n.url, "the user is asked to agree to")
	page.Click("button[type=submit]")
	page.AwaitTitle("Almost done")
	var width string
	assert.OK(t, page.Eval("getComputedStyle(document.body).maxWidth", &width))
	assert.Contains(t, width, "px", "the page's own style is let in")
	<-required.LoggedIn()
	assert.Equal(t, first.whoami(t), "ann", "logged in as")

	const renewals = 5
	for range renewals {
		n.deny()
		assert.Equal(t, first.whoami(t), "ann", "logged in as")
	}
	first.stop(t)

	// The next start of the program needs neither a login nor a registration.
	second := n.start(t, dir, unwanted{t})
	assert.Equal(t, second.whoami(t), "ann", "logged in as")
	n.deny()
	assert.Equal(t, second.whoami(t), "ann", "logged in as")
	assert.Equal(t, n.tokens(), 1+renewals+1, "access tokens")
	events := n.provider.events(t)
	for event, want := range map[string]int{
		"registration_create.success": 1,
		"authorization_code.consumed": 1,
		"refresh_token.consumed":      renewals + 1,
		"refresh_token.saved":         1 + renewals + 1,
		"grant.success":               1 + renewals + 1,
		"grant.error":                 0,
		"grant.revoked":               0,
		"server_error":                0,
	} {
		assert.Equal(t, events[event], want, "%s: times", event)
	}

	assert.Equal(t, second.manager.Logout(ctxFor(t), anybody()), nil, "Logout")
	events = n.provider.events(t)
	assert.Equal(t, events["grant.revoked"], 1, "after the logout")
	assert.Equal(t, events["refresh_token.destroyed"], 1, "after the logout")
	_, err = second.client.CallTool(ctxFor(t), "whoami", nil, nil)
	assert.Equal(t, assert.As[*auth.LoginRequiredError](t, err).URL, "", "after the logout: the page")
}

// unwanted is a prompt that nobody should see.
type unwanted struct{ t *testing.T }

func (u unwanted) Start(context.Context, []string) (auth.PromptSession, error) {
	u.t.Error("the user was asked to log in")
	return nil, auth.ErrDeclined
}

// TestLoginDeclined has the user refuse at the authorization server.
func TestLoginDeclined(t *testing.T) {
	n := serveNotes(t)
	browser := chromium.Start(t)
	tabs := make(chan *chromium.Tab, 1)
	r := n.start(t, t.TempDir(), &auth.Loopback{Out: io.Discard, Open: func(_ context.Context, url string) error {
		tabs <- browser.Open(t, url)
		return nil
	}})
	ended := make(chan error, 1)
	go func() { ended <- r.login(t) }()
	page := <-tabs
	page.Click("a[href$=abort]")
	page.AwaitTitle("Not logged in")
	assert.Equal(t, assert.As[*auth.OAuthError](t, <-ended).Code, "access_denied")
	// The user is not asked again before a call asks for it.
	required := assert.As[*auth.LoginRequiredError](t, assert.Err(r.client.CallTool(ctxFor(t), "whoami", nil, nil)))
	assert.Equal(t, fmt.Sprint(required.URL, required.Reason != ""), "true", "the page, and a reason")
	go func() { ended <- r.login(t) }()
	page = <-tabs
	logIn(page, "ann")
	page.Click("button[type=submit]")
	page.AwaitTitle("Almost done")
	assert.OK(t, <-ended, "Wait")
	assert.Equal(t, r.whoami(t), "ann", "logged in as")
}

// A webApp is a program whose users have browsers elsewhere. It knows them by a
// cookie.
type webApp struct {
	url     string
	notes   *notes
	manager *session.Manager
}

func serveApp(t *testing.T, n *notes) *webApp {
	t.Helper()
	mux := http.NewServeMux()
	listener := httptest.NewServer(mux)
	t.Cleanup(listener.Close)
	app := &webApp{url: listener.URL, notes: n}
	config := &auth.Config{Server: "notes", URL: n.url, Registration: auth.Registration{ClientName: "integration test"}}
	store := session.Memory()
	app.manager = assert.Value(session.NewManager(store, &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return config, nil },
		RedirectURL: app.url + "/callback",
	}))(t)
	t.Cleanup(func() { assert.Equal(t, errors.Join(app.manager.Close(), store.Close()), nil, "Close") })
	mux.HandleFunc("/enter", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "user", Value: r.FormValue("user"), HttpOnly: true, SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, r.FormValue("next"), http.StatusSeeOther)
	})
	mux.HandleFunc("/done", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!DOCTYPE html><title>Connected</title>"))
	})
	mux.Handle("/callback", app.manager.CallbackHandler(&session.CallbackOptions{
		User: func(r *http.Request) (string, error) {
			cookie, err := r.Cookie("user")
			if err != nil {
				return "", err
			}
			return cookie.Value, nil
		},
		SuccessURL: app.url + "/done",
	}))
	return app
}

// whoami calls the server's tool for a user.
func (a *webApp) whoami(t *testing.T, user string) (string, error) {
	t.Helper()
	c := mcp.NewClient("notes", &transport.HTTP{URL: a.notes.url, OAuth: a.manager.Handler(session.Key{User: user, Server: "notes"})}, nil)
	defer c.Close()
	res, err := c.CallTool(session.WithUser(ctxFor(t), user), "whoami", nil, nil)
	if err != nil {
		return "", err
	}
	return text(res), nil
}

// TestLoginOfWebUsers has two users of one web program log in, each with a browser of
// their own, and none with the login of the other.
func TestLoginOfWebUsers(t *testing.T) {
	app := serveApp(t, serveNotes(t))
	browser := chromium.Start(t)
	begin := func(user string) string {
		t.Helper()
		required := assert.As[*auth.LoginRequiredError](t, assert.Err(app.whoami(t, user)), "%s before the login", user)
		assert.Equal(t, required.User, user)
		return required.URL
	}
	logins := map[string]string{"ann": begin("ann"), "bob": begin("bob")}
	assert.False(t, logins["ann"] == logins["bob"], "two users have one login")

	// Eve was sent the address of Ann's login, and agrees as herself.
	eve := browser.Open(t, app.url+"/enter?user=eve&next=/done")
	eve.AwaitTitle("Connected")
	eve.Visit(logins["ann"])
	logIn(eve, "eve")
	eve.Click("button[type=submit]")
	eve.AwaitTitle("Not logged in")
	begin("ann")

	for user, login := range logins {
		page := browser.Open(t, app.url+"/enter?user="+user+"&next=/done")
		page.AwaitTitle("Connected")
		page.Visit(login)
		logIn(page, "account of "+user)
		page.Click("button[type=submit]")
		page.AwaitTitle("Connected")
		got, err := app.whoami(t, user)
		assert.Equal(t, got, "account of "+user, "is logged in")
		assert.OK(t, err, "is logged in")
	}
}
