package doctor

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"

	belt "github.com/mcpbelt/mcpbelt/auth"
)

// observed returns the transport with the eyes and ears of the test.
func (p *probe) observed(ctx context.Context, t mcp.Transport) (mcp.Transport, error) {
	inContainer := p.entry.Isolation != nil && p.entry.Isolation.Kind == config.IsolationDocker
	switch bare := t.(type) {
	case *transport.Command:
		c := *bare
		c.Stderr, c.StrayOutput = p.onStderr, p.onStrayOutput
		c.CloseTimeout = testCloseTimeout
		if _, err := exec.LookPath(c.Path); err != nil && filepath.Base(c.Path) == c.Path && !inContainer {
			return nil, &transport.StartError{Path: c.Path, Err: err}
		}
		t = &c
	case *transport.HTTP:
		c := *bare
		c.OAuth, c.RoundTripper = p.login(ctx, c.OAuth), p.tripper(c.RoundTripper, c.TLS, c.Proxy)
		t = &c
	}
	return t, nil
}

// userOf returns the user whose connection is tested: that of ctx, if users have
// connections of their own.
func userOf(ctx context.Context, e *config.Server) string {
	if !perUser(e) {
		return ""
	}
	user, _ := session.UserOf(ctx)
	return user
}

// perUser reports whether users have connections of their own to the server of an entry.
func perUser(e *config.Server) bool {
	return e.Identity == config.IdentityUser || e.Identity == config.IdentityHeader
}

// login returns a handler that uses the login there is and begins none.
func (p *probe) login(ctx context.Context, inner auth.OAuthHandler) auth.OAuthHandler {
	if inner == nil {
		return nil
	}
	l := &testLogin{inner, session.Key{User: userOf(ctx, p.entry), Server: p.entry.Name}}
	if a, ok := inner.(transport.Authenticator); ok {
		return &testAuthenticator{l, a}
	}
	return l
}

// A testLogin passes on what can be done without the user.
type testLogin struct {
	auth.OAuthHandler
	key session.Key
}

// Authorize renews the token that was refused. If there was none the user has to log
// in, and that is not begun for a test.
func (l *testLogin) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if req.Header.Get("Authorization") == "" {
		_ = resp.Body.Close()
		return &belt.LoginRequiredError{Server: l.key.Server, User: l.key.User}
	}
	return l.OAuthHandler.Authorize(ctx, req, resp)
}

// A testAuthenticator is a testLogin that knows more than bearer tokens.
type testAuthenticator struct {
	*testLogin
	inner transport.Authenticator
}

// Authenticate implements transport.Authenticator.
func (a *testAuthenticator) Authenticate(ctx context.Context, header http.Header, method, target string, body []byte) error {
	return a.inner.Authenticate(ctx, header, method, target, body)
}

// Observe implements transport.Authenticator.
func (a *testAuthenticator) Observe(resp *http.Response) { a.inner.Observe(resp) }
