//go:build integration && unix

package integration

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
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
	config := &auth.Config{Server: "notes", URL: n.url, ClientName: "integration test"}
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
	if err := errors.Join(r.client.Close(), r.manager.Close(), r.store.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// login logs in and waits until that is done.
func (r *app) login(t *testing.T) error {
	t.Helper()
	l, err := r.manager.Login(ctxFor(t), anybody())
	if err != nil {
		t.Fatalf("Login: %v", err)
	}
	return l.Wait(ctxFor(t))
}

// whoami calls the server's tool.
func (r *app) whoami(t *testing.T) string {
	t.Helper()
	res, err := r.client.CallTool(ctxFor(t), "whoami", nil, nil)
	if err != nil {
		t.Fatalf("whoami: %v", err)
	}
	return text(res)
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
	var required *auth.LoginRequiredError
	if _, err := first.client.CallTool(ctxFor(t), "whoami", nil, nil); !errors.As(err, &required) || !strings.HasPrefix(required.URL, n.provider.issuer+"/") {
		t.Fatalf("before the login: %v", err)
	}
	page := <-tabs
	logIn(page, "ann")
	if shown := page.Text(); !strings.Contains(shown, "notes:read") || !strings.Contains(shown, n.url) {
		t.Errorf("the user is asked to agree to %q", shown)
	}
	page.Click("button[type=submit]")
	page.AwaitTitle("Almost done")
	var width string
	if err := page.Eval("getComputedStyle(document.body).maxWidth", &width); err != nil || !strings.HasSuffix(width, "px") {
		t.Errorf("the page's own style is not let in: %q, %v", width, err)
	}
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

	if err := second.manager.Logout(ctxFor(t), anybody()); err != nil {
		t.Errorf("Logout: %v", err)
	}
	if events := n.provider.events(t); events["grant.revoked"] != 1 || events["refresh_token.destroyed"] != 1 {
		t.Errorf("after the logout: %v", events)
	}
	if _, err := second.client.CallTool(ctxFor(t), "whoami", nil, nil); !errors.As(err, &required) || required.URL != "" {
		t.Errorf("after the logout: %v", err)
	}
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
	var refused *auth.OAuthError
	if err := <-ended; !errors.As(err, &refused) || refused.Code != "access_denied" {
		t.Errorf("error %v", err)
	}
	// The user is not asked again before a call asks for it.
	var required *auth.LoginRequiredError
	if _, err := r.client.CallTool(ctxFor(t), "whoami", nil, nil); !errors.As(err, &required) || required.URL != "" || required.Reason == "" {
		t.Errorf("after that: %v", err)
	}
	go func() { ended <- r.login(t) }()
	page = <-tabs
	logIn(page, "ann")
	page.Click("button[type=submit]")
	page.AwaitTitle("Almost done")
	if err := <-ended; err != nil {
		t.Fatalf("Wait: %v", err)
	}
	assert.Equal(t, r.whoami(t), "ann", "logged in as")
}
