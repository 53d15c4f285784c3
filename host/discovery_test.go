package host_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// newLoginHost returns a host over a store of sessions, and its logins. Both are closed by
// end, once, or when the test ends.
func newLoginHost(t *testing.T, store *seal.Store, opts *login.Options) (h *host.Host, logins *login.Logins, end func()) {
	t.Helper()
	o := login.Options{}
	if opts != nil {
		o = *opts
	}
	if o.Session.Prompt == nil {
		o.Session.RedirectURL = loginCallback
	}
	logins = assert.Value(login.New(store, &o))(t)
	h = host.New(patient(&host.Options{Logins: logins, StateDir: host.NoState}))
	open := true
	end = func() {
		if !open {
			return
		}
		open = false
		assert.Is(t, errors.Join(h.Close(), logins.Close()), nil, "Close")
	}
	t.Cleanup(end)
	return h, logins, end
}

// personal is the entry of a server at which each user has a login of their own.
func personal(rs *authtest.Resource) *config.Server {
	return &config.Server{Name: "s", Title: "s", URL: rs.URL, Transport: config.TransportHTTP, Identity: config.IdentityUser}
}

func applyServers(t *testing.T, h *host.Host, servers ...*config.Server) {
	t.Helper()
	assert.Value(h.Apply(watchdog(t), &config.Config{Path: "mcp.json", Servers: servers}))(t)
}

// awaitTools waits until the tools of the server are listed, by themselves.
func awaitTools(t *testing.T, h *host.Host) {
	t.Helper()
	until(t, h, "s", "listed", func(s host.Status) bool { return s.Tools == 2 })
}

// An approver is a prompt that logs the user in at once.
type approver struct{ as *authtest.Server }

func (p approver) Start(context.Context, []string) (auth.PromptSession, error) { return p, nil }
func (p approver) RedirectURI() string                                         { return loginCallback }
func (p approver) Close() error                                                { return nil }
func (p approver) Show(ctx context.Context, l *auth.Pending) (string, error) {
	if l.Device != nil {
		return "", p.as.ApproveDevice(l.Device.UserCode)
	}
	return p.as.ApproveAs(ctx, "user alice", l.URL)
}

// However a user logs in, the tools of the server are listed then, and can be called.
func TestLoginMakesToolsAppear(t *testing.T) {
	alice := session.Key{User: "alice", Server: "s"}
	type parties struct {
		as     *authtest.Server
		host   *host.Host
		logins *login.Logins
	}
	// through logs the user in, and has the callback completed.
	through := func(complete func(ctx context.Context, w parties, back string) error) func(context.Context, parties) error {
		return func(ctx context.Context, w parties) error {
			login, err := w.host.Login(ctx, alice)
			if err != nil {
				return err
			}
			back, err := w.as.ApproveAs(ctx, "user alice", login.URL)
			if err != nil {
				return err
			}
			return complete(ctx, w, back)
		}
	}
	byHost := through(func(ctx context.Context, w parties, back string) error {
		return assert.Err(w.host.Complete(ctx, back, nil))
	})
	prompt := func(ctx context.Context, w parties) error { return assert.Err(w.host.Login(ctx, alice)) }
	tests := map[string]struct {
		identity string
		header   string
		prompt   bool
		device   bool
		token    bool // the server takes any
		login    func(context.Context, parties) error
	}{
		"Host.Complete":                  {login: byHost},
		"Host.Complete, identity header": {identity: config.IdentityHeader, header: "X-User", login: byHost},
		"Manager.Complete": {login: through(func(ctx context.Context, w parties, back string) error {
			return assert.Err(w.logins.Sessions().Complete(ctx, back, nil))
		})},
		"CallbackHandler": {login: through(func(ctx context.Context, w parties, back string) error {
			h := w.logins.Sessions().CallbackHandler(&session.CallbackOptions{
				User: func(*http.Request) (string, error) { return "alice", nil },
			})
			page := httptest.NewRecorder()
			h.ServeHTTP(page, httptest.NewRequestWithContext(ctx, http.MethodGet, back, nil))
			if page.Code != http.StatusOK {
				return errors.New(page.Body.String())
			}
			return nil
		})},
		"Prompt":      {prompt: true, login: prompt},
		"device code": {prompt: true, device: true, login: prompt},
		"SetToken": {token: true, login: func(ctx context.Context, w parties) error {
			return w.logins.Sessions().SetToken(ctx, alice, "a token")
		}},
		"SetHeader": {token: true, login: func(ctx context.Context, w parties) error {
			return w.logins.Sessions().SetHeader(ctx, alice, map[string]auth.Secret{"Authorization": "Bearer another"})
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := parties{as: authtest.NewServer(t, &authtest.Options{Device: time.Second})}
			opts := &login.Options{}
			if test.prompt {
				opts.Session.Prompt = approver{w.as}
			}
			entry := personal(w.as.NewMCP(nil))
			if test.device {
				entry.Auth = &config.Auth{Grant: "device_code"}
			}
			if test.token {
				entry.URL = newOpenMCP(t)
			}
			if test.identity != "" {
				entry.Identity, entry.UserHeader = test.identity, test.header
			}
			w.host, w.logins, _ = newLoginHost(t, session.Memory(), opts)
			applyServers(t, w.host, entry)
			assert.OK(t, test.login(watchdog(t), w))
			awaitTools(t, w.host)
			ctx := session.WithUser(watchdog(t), "alice")
			assert.Value(w.host.Registry().Call(ctx, "s__whoami", []byte(`{}`)))(t)
			assert.OK(t, status(t, w.host, "s").Err, "Status.Err")
		})
	}
}

// newOpenMCP returns the address of a server with two tools that wants an Authorization
// header, and takes any.
func newOpenMCP(t *testing.T) string {
	inner := newServer("open")
	addTool(inner, "whoami", func(context.Context) (string, error) { return "", nil })
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return inner }, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// logInAt logs a user in at the server of a host.
func logInAt(t *testing.T, h *host.Host, as *authtest.Server, user string) {
	t.Helper()
	ctx := watchdog(t)
	callback, err := as.ApproveAs(ctx, "user "+user, assert.Value(h.Login(ctx, session.Key{User: user, Server: "s"}))(t).URL)
	if err == nil {
		_, err = h.Complete(ctx, callback, nil)
	}
	assert.OK(t, err)
}

// A login that was kept makes the tools appear, however the server comes to run.
func TestStoredLoginMakesToolsAppear(t *testing.T) {
	tests := map[string]func(t *testing.T, h *host.Host, rs *authtest.Resource){
		"applied": func(t *testing.T, h *host.Host, rs *authtest.Resource) {
			applyServers(t, h, personal(rs))
		},
		"enabled": func(t *testing.T, h *host.Host, rs *authtest.Resource) {
			entry := personal(rs)
			entry.Disabled = true
			applyServers(t, h, entry)
			assert.OK(t, h.Enable(watchdog(t), "s"))
		},
		"replaced": func(t *testing.T, h *host.Host, rs *authtest.Resource) {
			shared := personal(rs)
			shared.Identity = "shared"
			applyServers(t, h, shared)
			applyServers(t, h, personal(rs))
		},
	}
	for name, start := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := session.Memory()
			as := authtest.NewServer(t, nil)
			rs := as.NewMCP(nil)
			h, _, end := newLoginHost(t, store, nil)
			applyServers(t, h, personal(rs))
			for i := range 10 {
				logInAt(t, h, as, fmt.Sprint("gone", i)) // whose login is no longer good
			}
			as.EndAll()
			logInAt(t, h, as, "alice")
			end()
			h, _, _ = newLoginHost(t, store, nil)
			start(t, h, rs)
			awaitTools(t, h)
		})
	}
}

// A server that does not answer delays neither Apply nor Close, and when it fails that is
// told, tried again, and cured by itself.
func TestStoredLoginAtAServerThatFails(t *testing.T) {
	t.Parallel()
	store := session.Memory()
	as := authtest.NewServer(t, nil)
	const good, hangs, fails = 0, 1, 2
	var mode atomic.Int32
	asked := make(chan struct{}, 100)
	rs := as.NewMCP(nil)
	odd := authtest.Fault{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		switch mode.Load() {
		case hangs:
			asked <- struct{}{}
			<-r.Context().Done()
		case fails:
			w.WriteHeader(http.StatusInternalServerError)
		}
		return mode.Load() != good
	}}
	rs.Fail(authtest.ResourceEndpoint, -1, odd)
	rs.Fail(authtest.MetadataEndpoint, -1, odd)
	h, _, end := newLoginHost(t, store, nil)
	applyServers(t, h, personal(rs))
	logInAt(t, h, as, "alice")
	end()

	mode.Store(hangs)
	h, _, end = newLoginHost(t, store, nil)
	applyServers(t, h, personal(rs))
	<-asked
	end()

	mode.Store(fails)
	h, _, _ = newLoginHost(t, store, nil)
	applyServers(t, h, personal(rs))
	until(t, h, "s", "known to fail", func(s host.Status) bool {
		return s.Err != nil && strings.Contains(s.Err.Error(), `"alice"`)
	})
	health := assert.Value(doctor.HealthOf(h, "s"))(t)
	assert.Equal(t, health.Level, doctor.LevelUnhealthy, "level")
	assert.Equal(t, health.Action, "wait", "action")
	mode.Store(good)
	awaitTools(t, h)
	until(t, h, "s", "well", func(s host.Status) bool { return s.Err == nil })
}

// Until a person has logged in, Status and Diagnose say that this is what is missing.
func TestDiagnoseBeforeTheFirstLogin(t *testing.T) {
	as := authtest.NewServer(t, nil)
	h, _, _ := newLoginHost(t, session.Memory(), nil)
	applyServers(t, h, personal(as.NewMCP(nil)))
	d := assert.Value(doctor.Diagnose(watchdog(t), h, "s"))(t)
	assert.Equal(t, d.Health.Level, doctor.LevelDegraded, "level")
	assert.Equal(t, d.Health.Action, "login", "action")
	assert.Equal(t, len(d.Hints), 1, "hints")
	assert.Equal(t, d.Hints[0].Code, "login_required", "hint")
	assert.Contains(t, d.Hints[0].Text, `server "s"`, "hint")
	logInAt(t, h, as, "alice")
	awaitTools(t, h)
	d = assert.Value(doctor.Diagnose(watchdog(t), h, "s"))(t)
	assert.Equal(t, d.Health.Action, "none", "action after the login")
	assert.Equal(t, len(d.Hints), 0, "hints after the login")
}

// Where the program sees to logins itself, a diagnosis says what makes the tools known.
func TestDiagnoseWithoutLogins(t *testing.T) {
	as := authtest.NewServer(t, nil)
	h := host.New(&host.Options{StateDir: host.NoState})
	t.Cleanup(func() { _ = h.Close() })
	applyServers(t, h, personal(as.NewMCP(nil)))
	d := assert.Value(doctor.Diagnose(watchdog(t), h, "s"))(t)
	assert.Equal(t, d.Health.Level, doctor.LevelHealthy, "level")
	assert.Equal(t, len(d.Hints), 1, "hints")
	assert.Equal(t, d.Hints[0].Code, "login_required", "hint")
}
