// Tests of handler.go: a client of a protected server.

package session_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

var _ transport.Authenticator = (*session.Handler)(nil)

// newStateful returns a protected server with sessions, that does not know the newest revision.
func newStateful(s *authtest.Server, o *authtest.ResourceOptions) *authtest.Resource {
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	for _, tool := range []string{"echo", "whoami"} {
		sdk.AddTool(server, &sdk.Tool{Name: tool}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "in"}}}, nil, nil
		})
	}
	legacy := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	return s.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		legacy.ServeHTTP(w, r)
	}), o)
}

// A clientTest is a client of a protected server, with the manager that keeps its session.
type clientTest struct {
	t       *testing.T
	ctx     context.Context
	as      *authtest.Server
	manager *session.Manager
	client  *mcp.Client
}

// testClients runs a test with each kind of server. Their tool whoami needs more rights than
// their tool echo.
func testClients(t *testing.T, as *authtest.Options, rs authtest.ResourceOptions, test func(t *testing.T, c *clientTest)) {
	rs.ToolScopes = map[string][]string{"whoami": {"profile"}}
	for kind, protect := range map[string]func(*authtest.Server, *authtest.ResourceOptions) *authtest.Resource{
		"stateless": (*authtest.Server).NewMCP,
		"stateful":  newStateful,
	} {
		t.Run(kind, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), patience)
			t.Cleanup(stop)
			c := &clientTest{t: t, ctx: ctx, as: authtest.NewServer(t, as)}
			url := protect(c.as, &rs).URL
			c.manager = assert.Value(newManager(session.Memory(), &auth.Config{Server: "s", URL: url}))(t)
			t.Cleanup(func() { _ = c.manager.Close() })
			c.client = mcp.NewClient("s", &transport.HTTP{URL: url, OAuth: c.manager.Handler(session.Key{Server: "s"})}, nil)
			t.Cleanup(func() { _ = c.client.Close() })
			test(t, c)
			s := c.await("ready", ready)
			assert.Equal(t, s.Connections, 1, "connections")
			assert.Equal(t, s.ProtocolVersion == mcp.Revision20260728, kind == "stateless", "it speaks the newest revision")
		})
	}
}

func (c *clientTest) call(tool string) error {
	return errOf(c.client.CallTool(c.ctx, tool, json.RawMessage(map[string]string{"echo": `{"text":"in"}`, "whoami": `{}`}[tool]), nil))
}

func (c *clientTest) mustCall(tool string) {
	c.t.Helper()
	assert.OK(c.t, c.call(tool), "%s", tool)
}

// mustLogIn does what an error says.
func (c *clientTest) mustLogIn(err error) *auth.LoginRequiredError {
	c.t.Helper()
	required := assert.As[*auth.LoginRequiredError](c.t, err)
	assert.True(c.t, mcp.SafeToRetry(err), "the call is safe to retry")
	assert.Value(c.manager.Complete(c.ctx, assert.Value(c.as.Approve(c.ctx, required.URL))(c.t), nil))(c.t)
	return required
}

func (c *clientTest) await(what string, is func(mcp.State) bool) mcp.State {
	c.t.Helper()
	for s := range c.client.Watch(c.ctx) {
		if is(s) {
			return s
		}
	}
	c.t.Fatalf("got state %+v, want %s", c.client.State(), what)
	return mcp.State{}
}

func ready(s mcp.State) bool { return s.Phase == mcp.Ready }

// mustStart has the user log in when the client connects.
func (c *clientTest) mustStart() {
	c.t.Helper()
	required := c.client.Ready(c.ctx)
	s := c.client.State()
	assert.Equal(c.t, s.Phase, mcp.Authenticating, "phase")
	assert.True(c.t, strings.HasPrefix(s.LoginURL, c.as.Issuer), "the login %s is at the authorization server", s.LoginURL)
	c.mustLogIn(required)
	c.await("ready", ready)
}

// A client asks for a login, is ready when there was one, and from then on knows
// nothing of tokens that expire.
func TestClientLogsInOnce(t *testing.T) {
	//report: Logins | n8n-io/n8n#30875, n8n-io/n8n#22893 | tokens end while a client runs, and it has to be logged in by hand again and again | each is renewed by the call that needs it, and the user logs in once
	testClients(t, nil, authtest.ResourceOptions{}, func(t *testing.T, c *clientTest) {
		c.mustStart()
		for range 3 {
			c.as.ExpireAll()
			c.mustCall("echo")
		}
		assert.True(t, c.as.Granted("refresh_token") >= 1, "tokens are renewed")
		assert.Equal(t, c.as.Revoked(), 0, "logins revoked")
		assert.Equal(t, c.as.Granted("authorization_code"), 1, "logins")
	})
}

// A session that ends at the authorization server is a new login on the same
// connection.
func TestClientLogsInAgain(t *testing.T) {
	testClients(t, nil, authtest.ResourceOptions{}, func(t *testing.T, c *clientTest) {
		c.mustStart()
		c.mustCall("echo")
		c.as.EndAll()
		required := c.call("echo")
		c.await("a login", func(s mcp.State) bool { return s.Phase == mcp.Authenticating && s.LoginURL != "" })
		assert.True(t, c.mustLogIn(required).Reason != "", "there is a reason")
		c.await("ready", ready)
		c.mustCall("echo")
	})
}

// More rights for one tool are a login for that tool only.
func TestClientStepsUp(t *testing.T) {
	testClients(t, nil, authtest.ResourceOptions{}, func(t *testing.T, c *clientTest) {
		c.mustStart()
		assert.True(t, c.mustLogIn(c.call("whoami")).StepUp(), "it is a step up")
		c.mustCall("whoami")
		c.mustCall("echo")
	})
}

// Tokens that are bound to a key, and nonces that change, need nothing of the
// user.
func TestClientProvesPossession(t *testing.T) {
	as := &authtest.Options{DPoP: true, DPoPNonce: true}
	testClients(t, as, authtest.ResourceOptions{DPoPRequired: true}, func(t *testing.T, c *clientTest) {
		c.mustStart()
		for range 3 {
			c.as.ExpireAll()
			c.mustCall("echo")
		}
		c.mustLogIn(c.call("whoami"))
		c.mustCall("whoami")
	})
}

// A server may let everybody list its tools, and ask for a login at the first call.
func TestClientLogsInForACall(t *testing.T) {
	//report: Logins | anomalyco/opencode#36946, punkpeye/mcp-remote#286, langgenius/dify#36230 | everything but calls of tools is open, so that the first request that is refused is a call | the client connects without a login, the call begins one, and goes through after it
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "in"}}}, nil, nil
	})
	open := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	as := authtest.NewServer(t, nil)
	rs := as.Protect(open, nil)
	rs.Fail(authtest.ResourceEndpoint, -1, authtest.Fault{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "" || strings.Contains(string(body), `"tools/call"`) {
			return false
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		open.ServeHTTP(w, r)
		return true
	}})
	c := &clientTest{t: t, ctx: ctx, as: as, manager: assert.Value(newManager(session.Memory(), &auth.Config{Server: "s", URL: rs.URL}))(t)}
	t.Cleanup(func() { _ = c.manager.Close() })
	c.client = mcp.NewClient("s", &transport.HTTP{URL: rs.URL, OAuth: c.manager.Handler(session.Key{Server: "s"})}, nil)
	t.Cleanup(func() { _ = c.client.Close() })
	assert.OK(t, c.client.Ready(ctx), "without a login")
	c.mustLogIn(errOf(c.client.CallTool(ctx, "echo", json.RawMessage(`{}`), nil)))
	c.await("ready", ready)
	assert.OK(t, errOf(c.client.CallTool(ctx, "echo", json.RawMessage(`{}`), nil)))
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
