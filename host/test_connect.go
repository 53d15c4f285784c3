package host

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"

	belt "github.com/mcpbelt/mcpbelt/auth"
)

// recipe makes the transport of the test: that of the entry, with eyes and ears.
func (p *probe) recipe(ctx context.Context) (mcp.Transport, error) {
	e := p.entry
	if e.Err != nil {
		return nil, e.Err
	}
	if err := p.host.unapproved(ctx, e); err != nil {
		return nil, err
	}
	key := testKey(ctx, e)
	if p.server().perUser() && key.User == "" {
		return nil, &NoUserError{Server: e.Name}
	}
	header, err := p.host.userHeader(ctx, key, e)
	if err != nil {
		return nil, err
	}
	return p.host.guard(e, func(e *config.Server) (mcp.Transport, error) {
		t, err := p.host.recipe(key, e, header)
		if err != nil {
			return nil, err
		}
		return p.observed(ctx, t)
	})
}

// observed returns the transport with the eyes and ears of the test.
func (p *probe) observed(ctx context.Context, t mcp.Transport) (mcp.Transport, error) {
	switch bare := t.(type) {
	case *transport.Command:
		c := *bare
		c.Stderr, c.Noise = p.onStderr, p.onNoise
		c.CloseTimeout = testCloseTimeout
		c.Watchdog = nil // one of its own, which ends with it
		if _, err := exec.LookPath(c.Path); err != nil && filepath.Base(c.Path) == c.Path && !inContainer(p.entry) {
			return nil, &transport.StartError{Path: c.Path, Err: err}
		}
		t = &c
	case *transport.HTTP:
		c := *bare
		c.OAuth, c.RoundTripper = p.login(ctx, c.OAuth), p.tripper(c.RoundTripper, c.TLS, c.Proxy)
		t = &c
	case *transport.SSE:
		c := *bare
		c.OAuth, c.RoundTripper = p.login(ctx, c.OAuth), p.tripper(c.RoundTripper, c.TLS, c.Proxy)
		t = &c
	case *transport.Auto:
		t = &transport.Auto{URL: bare.URL, Header: bare.Header, MaxMessage: bare.MaxMessage,
			OAuth: p.login(ctx, bare.OAuth), RoundTripper: p.tripper(bare.RoundTripper, bare.TLS, bare.Proxy)}
	}
	return t, nil
}

// testKey names the connection that is tested: that of the user of ctx, if users have
// connections of their own.
func testKey(ctx context.Context, e *config.Server) session.Key {
	key := session.Key{Server: e.Name}
	if e.Identity == config.IdentityUser || e.Identity == config.IdentityHeader {
		key.User, _ = session.UserOf(ctx)
	}
	return key
}

// clientOptions are those of the host's clients, but nobody is asked or told
// anything: neither the user, nor a model, nor the log.
func (p *probe) clientOptions() *mcp.ClientOptions {
	o := p.server().options()
	o.Logger, o.Elicit, o.ElicitURL = nil, nil, nil
	//lint:ignore SA1019 older servers use them
	o.Log, o.LogLevel, o.Sample = nil, "", nil
	o.HealthInterval = -1
	o.CloseTimeout = testCloseTimeout
	return o
}

// server returns a server of the entry that stands nowhere and is never started.
func (p *probe) server() *server { return p.host.newSlot(p.entry.Name).newServer(p.entry) }

// testAllows reports whether the entry uses the tool of that name.
func testAllows(f config.ToolFilter, name string) bool {
	return (f.Allow == nil || slices.Contains(f.Allow, name)) && !slices.Contains(f.Deny, name)
}

// testTools makes registry tools of what the server listed. They are never called.
func testTools(e *config.Server, client *mcp.Client, listed []*mcp.Tool) []registry.Tool {
	tools := make([]registry.Tool, 0, len(listed))
	for _, t := range listed {
		tool := registry.Remote(e.Name, client, t)
		if name, ok := e.Tools.Rename[t.Name]; ok {
			if renamed, err := registry.With(tool, func(d *registry.Definition) { d.Alias = name }); err == nil {
				tool = renamed
			}
		}
		tools = append(tools, tool)
	}
	return tools
}

// login returns a handler that uses the login there is and begins none.
func (p *probe) login(ctx context.Context, inner auth.OAuthHandler) auth.OAuthHandler {
	if inner == nil {
		return nil
	}
	l := &testLogin{inner, testKey(ctx, p.entry)}
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
