//go:build integration && unix

package integration

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

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
	config := &auth.Config{Server: "notes", URL: n.url, ClientName: "integration test"}
	store := session.Memory()
	app.manager = assert.Value(session.NewManager(store, &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return config, nil },
		RedirectURL: app.url + "/callback",
	}))(t)
	t.Cleanup(func() {
		if err := errors.Join(app.manager.Close(), store.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
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
	key := session.Key{User: user, Server: "notes"}
	c := mcp.NewClient("notes", &transport.HTTP{URL: a.notes.url, OAuth: a.manager.Handler(key)}, nil)
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
		_, err := app.whoami(t, user)
		var required *auth.LoginRequiredError
		if !errors.As(err, &required) || required.User != user {
			t.Fatalf("%s before the login: %v", user, err)
		}
		return required.URL
	}
	logins := map[string]string{"ann": begin("ann"), "bob": begin("bob")}
	if logins["ann"] == logins["bob"] {
		t.Fatal("two users have one login")
	}

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
		if got, err := app.whoami(t, user); got != "account of "+user || err != nil {
			t.Errorf("%s is logged in as %q, %v", user, got, err)
		}
	}
}
