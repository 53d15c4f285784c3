package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

var _ transport.Authenticator = (*session.Handler)(nil)

// A user is a person with a client of a protected server, and with a manager that keeps
// their session.
type user struct {
	t       *testing.T
	ctx     context.Context
	as      *authtest.Server
	manager *session.Manager
	client  *mcp.Client
}

// serversOfEachKind are protected servers with the tools echo and whoami, the
// second of which needs more rights.
func serversOfEachKind(t *testing.T, as *authtest.Options, rs *authtest.ResourceOptions, test func(t *testing.T, u *user)) {
	for kind, protect := range map[string]func(*authtest.Server, *authtest.ResourceOptions) *authtest.Resource{
		"without sessions": (*authtest.Server).NewMCP,
		"with sessions": func(s *authtest.Server, o *authtest.ResourceOptions) *authtest.Resource {
			server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
			for _, tool := range []string{"echo", "whoami"} {
				sdk.AddTool(server, &sdk.Tool{Name: tool}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
					return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "in"}}}, nil, nil
				})
			}
			legacy := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
			return s.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") != "" { // an older server does not know the newest revision
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				legacy.ServeHTTP(w, r)
			}), o)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			t.Cleanup(stop)
			u := &user{t: t, ctx: ctx, as: authtest.NewServer(t, as)}
			var o authtest.ResourceOptions
			if rs != nil {
				o = *rs
			}
			o.Require = authtest.ToolScopes(map[string][]string{"whoami": {"profile"}})
			url := protect(u.as, &o).URL
			config := &auth.Config{Server: "s", URL: url}
			store := session.Memory()
			t.Cleanup(func() { _ = store.Close() })
			u.manager = assert.Value(session.NewManager(store, &session.Options{
				Config:      func(session.Key) (*auth.Config, error) { return config, nil },
				RedirectURL: stormReturn,
			}))(t)
			t.Cleanup(func() { _ = u.manager.Close() })
			u.client = mcp.NewClient("s", &transport.HTTP{URL: url, OAuth: u.manager.Handler(stormKey())}, nil)
			t.Cleanup(func() { _ = u.client.Close() })
			test(t, u)
			assert.Equal(t, u.client.State().ProtocolVersion == mcp.Revision20260728 == (kind == "with sessions"), false, "the server %s speaks revision %s", kind, u.client.State().ProtocolVersion)
		})
	}
}

func (u *user) call(tool string) error {
	args := json.RawMessage(`{}`)
	if tool == "echo" {
		args = json.RawMessage(`{"text":"in"}`)
	}
	_, err := u.client.CallTool(u.ctx, tool, args, nil)
	return err
}

func (u *user) mustCall(tool string) {
	u.t.Helper()
	assert.OK(u.t, u.call(tool), "%s", tool)
}

// mustLogIn does what an error says, and waits until the client has noticed.
func (u *user) mustLogIn(err error) *auth.LoginRequiredError {
	u.t.Helper()
	var required *auth.LoginRequiredError
	if !errors.As(err, &required) || !mcp.SafeToRetry(err) {
		u.t.Fatalf("error %v", err)
	}
	callback, err := u.as.Approve(u.ctx, required.URL)
	if err == nil {
		_, err = u.manager.Complete(u.ctx, callback, nil)
	}
	assert.OK(u.t, err)
	return required
}

func (u *user) await(what string, is func(mcp.State) bool) mcp.State {
	u.t.Helper()
	for s := range u.client.Watch(u.ctx) {
		if is(s) {
			return s
		}
	}
	u.t.Fatalf("state %+v, want %s", u.client.State(), what)
	return mcp.State{}
}

func ready(s mcp.State) bool { return s.Phase == mcp.Ready }

// A client asks for a login, is ready when there was one, and from then on knows
// nothing of tokens that expire.
func TestClientLogsInOnce(t *testing.T) {
	serversOfEachKind(t, nil, nil, func(t *testing.T, u *user) {
		required := u.client.Ready(u.ctx)
		s := u.client.State()
		assert.Equal(t, [...]any{s.Phase, strings.HasPrefix(s.LoginURL, u.as.Issuer)}, [...]any{mcp.Authenticating, true}, "state")
		u.mustLogIn(required)
		u.await("ready", ready)
		for range 5 {
			u.as.ExpireAll()
			u.mustCall("echo")
		}
		if s := u.client.State(); s.Phase != mcp.Ready || s.Connections != 1 {
			t.Errorf("state %+v", s)
		}
		assert.Equal(t, [...]any{u.as.Granted("refresh_token") < 1, u.as.Revoked(), u.as.Granted("authorization_code")}, [...]any{false, 0, 1})
	})
}

// A session that ends at the authorization server is a new login on the same
// connection.
func TestClientLogsInAgain(t *testing.T) {
	serversOfEachKind(t, nil, nil, func(t *testing.T, u *user) {
		u.mustLogIn(u.client.Ready(u.ctx))
		u.await("ready", ready)
		u.mustCall("echo")
		u.as.EndAll()
		required := u.call("echo")
		u.await("a login", func(s mcp.State) bool { return s.Phase == mcp.Authenticating && s.LoginURL != "" })
		assert.Equal(t, u.mustLogIn(required).Reason != "", true, "no reason why")
		assert.Equal(t, u.await("ready", ready).Connections, 1, "state")
		u.mustCall("echo")
	})
}

// More rights for one tool are a login for that tool only.
func TestClientStepsUp(t *testing.T) {
	serversOfEachKind(t, nil, nil, func(t *testing.T, u *user) {
		u.mustLogIn(u.client.Ready(u.ctx))
		u.await("ready", ready)
		assert.Equal(t, u.mustLogIn(u.call("whoami")).StepUp(), true, "login required")
		u.mustCall("whoami")
		u.mustCall("echo")
		s := u.client.State()
		assert.Equal(t, [...]any{s.Phase, s.Connections}, [...]any{mcp.Ready, 1}, "state")
	})
}

// Tokens that are bound to a key, and nonces that change, need nothing of the
// user.
func TestClientProvesPossession(t *testing.T) {
	as := &authtest.Options{DPoP: authtest.DPoPRequired, DPoPNonce: true}
	rs := &authtest.ResourceOptions{DPoPRequired: true, DPoPNonce: true}
	serversOfEachKind(t, as, rs, func(t *testing.T, u *user) {
		u.mustLogIn(u.client.Ready(u.ctx))
		u.await("ready", ready)
		for range 3 {
			u.as.ExpireAll()
			u.mustCall("echo")
		}
		u.mustLogIn(u.call("whoami"))
		u.mustCall("whoami")
		s := u.client.State()
		assert.Equal(t, [...]any{s.Phase, s.Connections}, [...]any{mcp.Ready, 1}, "state")
	})
}
