package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

const loginCallback = "http://127.0.0.1:1/callback"

// A loginWorld is a host that logs users in.
type loginWorld struct {
	t      *testing.T
	logins *login.Logins
	host   *host.Host

	activity *activity.Log
	mu       sync.Mutex
	events   []string
}

func newLoginWorld(t *testing.T, configure func(*config.Server, *auth.Config) error) *loginWorld {
	t.Helper()
	logins := assert.Value(login.New(session.Memory(), &login.Options{
		Session:   session.Options{RedirectURL: loginCallback},
		Configure: configure,
	}))(t)
	w := &loginWorld{t: t, logins: logins}
	w.activity = activity.New(nil, w)
	w.host = host.New(&host.Options{Logins: logins, StateDir: host.NoState, ToolGrace: -1, Activity: w.activity})
	t.Cleanup(func() {
		if err := errors.Join(w.host.Close(), logins.Close(), w.activity.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Write makes the world a sink of the activity log.
func (w *loginWorld) Write(_ context.Context, events []activity.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		if e.Kind == activity.KindLogin || e.Kind == activity.KindLogout {
			w.events = append(w.events, fmt.Sprintf("%s %s %s %s", e.Kind, e.User, e.Server, e.Outcome))
		}
	}
	return nil
}

// log returns what was logged of logins.
func (w *loginWorld) log() string {
	w.t.Helper()
	assert.OK(w.t, w.activity.Flush(watchdog(w.t)))
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.events, ", ")
}

// apply runs these servers.
func (w *loginWorld) apply(servers ...*config.Server) host.Report {
	w.t.Helper()
	for _, s := range servers {
		s.Title, s.Transport, s.Enabled = s.Name, config.TransportHTTP, true
	}
	report := assert.Value(w.host.Apply(watchdog(w.t), &config.Config{Path: "mcp.json", Servers: servers}))(w.t)
	return report
}

// logIn logs a user in at a server that the authorization server protects.
func (w *loginWorld) logIn(as *authtest.Server, user, server string) {
	w.t.Helper()
	ctx := watchdog(w.t)
	if user != "" {
		ctx = session.WithUser(ctx, user)
	}
	login := assert.Value(w.host.Login(ctx, session.Key{Server: server}))(w.t)
	callback := assert.Value(as.ApproveAs(ctx, "user "+user, login.URL))(w.t)
	var wrong *session.UserError
	if _, err := w.host.Complete(ctx, callback, &session.CompleteOptions{User: "mallory"}); !errors.As(err, &wrong) {
		w.t.Fatalf("completed by another: %v", err)
	}
	key, err := w.host.Complete(ctx, callback, &session.CompleteOptions{User: user})
	if err != nil || key != (session.Key{User: user, Server: server}) {
		w.t.Fatalf("%v, %v", key, err)
	}
}

// whoami asks a server who the token is of.
func (w *loginWorld) whoami(user, server string) (string, error) {
	ctx := watchdog(w.t)
	if user != "" {
		ctx = session.WithUser(ctx, user)
	}
	res, err := w.host.Registry().Call(ctx, server+"__whoami", json.RawMessage(`{}`))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(result.Text(res)), nil
}

// tokens returns the tokens that a server has let in.
func tokens(rs *authtest.Resource) []string {
	var all []string
	for _, r := range rs.Requests() {
		if token := r.Header.Get("Authorization"); token != "" && !slices.Contains(all, token) {
			all = append(all, token)
		}
	}
	return all
}

func TestLoginsOfTwoUsersAtTwoServers(t *testing.T) {
	w := newLoginWorld(t, nil)
	as := map[string]*authtest.Server{"one": authtest.NewServer(t, nil), "two": authtest.NewServer(t, nil)}
	rs := map[string]*authtest.Resource{"one": as["one"].NewMCP(nil), "two": as["two"].NewMCP(nil)}
	var entries []*config.Server
	for _, server := range []string{"one", "two"} {
		entries = append(entries, &config.Server{Name: server, URL: rs[server].URL, Identity: config.IdentityUser})
	}
	w.apply(entries...)
	users := []string{"alice", "bob"}
	for server := range as {
		for _, user := range users {
			w.logIn(as[server], user, server)
			assert.Value(w.host.Client(watchdog(t), session.Key{User: user, Server: server}))(t)
		}
	}
	var wg sync.WaitGroup
	for server := range as {
		for _, user := range users {
			for range 16 {
				wg.Go(func() {
					if got, err := w.whoami(user, server); err != nil || got != "user "+user {
						t.Errorf("%s at %s is %q, %v", user, server, got, err)
					}
				})
			}
		}
	}
	wg.Wait()
	for server, other := range map[string]string{"one": "two", "two": "one"} {
		sent := tokens(rs[server])
		assert.Equal(t, len(sent), len(users), "%s has seen tokens", server)
		for _, secret := range as[other].Secrets() {
			for _, token := range sent {
				if strings.Contains(token, secret) {
					t.Errorf("%s has seen a token of %s", server, other)
				}
			}
		}
	}
	// One leaves; the others stay.
	assert.OK(t, w.host.Logout(session.WithUser(watchdog(t), "alice"), session.Key{Server: "one"}))
	var required *auth.LoginRequiredError
	if got, err := w.whoami("alice", "one"); !errors.As(err, &required) {
		t.Errorf("after the logout: %q, %v", got, err)
	}
	for _, want := range []string{"login alice one ok", "login bob two ok", "logout alice one ok"} {
		if log := w.log(); !strings.Contains(log, want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	for _, who := range [][2]string{{"alice", "two"}, {"bob", "one"}, {"bob", "two"}} {
		if got, err := w.whoami(who[0], who[1]); err != nil || got != "user "+who[0] {
			t.Errorf("%s at %s is %q, %v", who[0], who[1], got, err)
		}
	}
	var nobody *host.NoUserError
	if _, err := w.host.Login(watchdog(t), session.Key{Server: "one"}); !errors.As(err, &nobody) {
		t.Errorf("nobody logs in: %v", err)
	}
}

// Where all share a connection they share its login, whoever calls.
func TestSharedLogin(t *testing.T) {
	w := newLoginWorld(t, nil)
	as := authtest.NewServer(t, nil)
	w.apply(&config.Server{Name: "s", URL: as.NewMCP(nil).URL})
	w.logIn(as, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	for _, user := range []string{"", "alice"} {
		if got, err := w.whoami(user, "s"); err != nil || got != "user" {
			t.Errorf("%q is %q, %v", user, got, err)
		}
	}
	c := assert.Value(w.host.Client(watchdog(t), session.Key{Server: "s"}))(t)
	if err := c.Ping(session.WithUser(watchdog(t), "alice")); err != nil {
		t.Errorf("by the client: %v", err)
	}
	var none *login.Error
	if _, err := w.host.Login(watchdog(t), session.Key{User: "alice", Server: "s"}); !errors.As(err, &none) {
		t.Errorf("alice logs in: %v", err)
	}
	if err := w.host.Logout(watchdog(t), session.Key{User: "alice", Server: "s"}); !errors.As(err, &none) {
		t.Errorf("alice logs out: %v", err)
	}
}

// A server that nobody has approved is not spoken to, for a login neither.
func TestLoginAtAnUnapprovedServer(t *testing.T) {
	w := newLoginWorld(t, nil)
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	w.apply(&config.Server{Name: "s", URL: rs.URL, Source: config.Source{File: "mcp.json", Scope: config.ScopeProject}})
	var unapproved *host.LaunchNotAllowedError
	if _, err := w.host.Login(watchdog(t), session.Key{Server: "s"}); !errors.As(err, &unapproved) {
		t.Errorf("%v", err)
	}
	assert.Equal(t, len(rs.Requests())+len(as.Requests()), 0, "requests")
}

// An Authorization header in the entry is sent, and nobody logs in.
func TestEntryWithItsOwnAuthorization(t *testing.T) {
	w := newLoginWorld(t, nil)
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	w.apply(&config.Server{Name: "s", URL: rs.URL, Headers: map[string]config.Secret{"authorization": "Bearer of-its-own"}})
	until(t, w.host, "s", "refused", func(s host.Status) bool { return s.Err != nil })
	if sent := tokens(rs); !slices.Equal(sent, []string{"Bearer of-its-own"}) {
		t.Errorf("sent %d tokens", len(sent))
	}
	assert.Equal(t, len(as.Requests()), 0, "requests to the authorization server")
	var none *login.Error
	if _, err := w.host.Login(watchdog(t), session.Key{Server: "s"}); !errors.As(err, &none) || strings.Contains(err.Error(), "of-its-own") {
		t.Errorf("%v", err)
	}
}

func TestNoLogins(t *testing.T) {
	h := open(t, write(t, "s", `{"command": "x"}`), inProcess(newServer("s")))
	var none *login.Error
	if _, err := h.Login(watchdog(t), session.Key{Server: "s"}); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	if _, err := h.Complete(watchdog(t), loginCallback+"?code=c&state=s", nil); err == nil {
		t.Error("completed")
	}
	var unknown *host.UnknownServerError
	if err := h.Logout(watchdog(t), session.Key{Server: "t"}); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
	w := newLoginWorld(t, nil)
	if _, err := w.logins.Sessions().Login(watchdog(t), session.Key{Server: "gone"}); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	if _, err := login.New(session.Memory(), &login.Options{Session: session.Options{
		Config: func(session.Key) (*auth.Config, error) { return nil, nil },
	}}); err == nil {
		t.Error("two configurations")
	}
}

// A client that was registered by hand logs in as the entry says.
func TestRegisteredClient(t *testing.T) {
	const redirect = "http://127.0.0.1:1/callback"
	as := authtest.NewServer(t, &authtest.Options{NoRegistration: true, Clients: []authtest.Client{
		{ID: "by-hand", Secret: "hush-hush", RedirectURIs: []string{redirect}},
	}})
	rs := as.NewMCP(nil)
	entry := func() *config.Server {
		return &config.Server{Name: "s", URL: rs.URL, Auth: &config.Auth{
			ClientID: "by-hand", ClientSecret: "hush-hush", Issuer: as.Issuer, RedirectURL: redirect, Scopes: []string{"read", "write"},
		}}
	}
	w := newLoginWorld(t, nil)
	w.apply(entry())
	login, err := w.host.Login(watchdog(t), session.Key{Server: "s"})
	assert.OK(t, err)
	for _, want := range []string{"client_id=by-hand", "scope=read+write", "redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback"} {
		if !strings.Contains(login.URL, want) {
			t.Errorf("%s lacks %s", login.URL, want)
		}
	}
	w.logIn(as, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	if got, err := w.whoami("", "s"); err != nil || got != "user read write" {
		t.Errorf("%q, %v", got, err)
	}

	w = newLoginWorld(t, nil)
	without := entry()
	without.Auth.Issuer = ""
	w.apply(without)
	var wrong *auth.ConfigError
	_, err = w.host.Login(watchdog(t), session.Key{Server: "s"})
	if !errors.As(err, &wrong) || wrong.Field != "auth.issuer" || strings.Contains(err.Error(), "hush-hush") {
		t.Errorf("without issuer: %v", err)
	}
}

// Configure has the last word, and is asked again when an entry has changed.
func TestConfigureLogins(t *testing.T) {
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	var mu sync.Mutex
	var seen []string
	w := newLoginWorld(t, func(e *config.Server, c *auth.Config) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e.Name+" "+e.Description)
		if e.Description == "bad" {
			return fmt.Errorf("it is bad")
		}
		c.ClientName = "the agent of " + e.Name
		return nil
	})
	w.apply(&config.Server{Name: "s", URL: rs.URL})
	w.logIn(as, "", "s")
	registered := false
	for _, r := range as.Requests() {
		registered = registered || strings.Contains(r.Body, "the agent of s")
	}
	if !registered {
		t.Error("the name was not sent")
	}
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	if report := w.apply(&config.Server{Name: "s", URL: rs.URL, Description: "bad"}); report.Failed["s"] == nil {
		t.Errorf("%+v", report)
	}
	if got, err := w.whoami("", "s"); err != nil || got != "user" {
		t.Errorf("after a bad change: %q, %v", got, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(seen, "s ") || !slices.Contains(seen, "s bad") {
		t.Errorf("configured %q", seen)
	}
}

// While a server is replaced by one at another address, which then fails, calls of the
// old one go on, and its session is renewed afterwards.
func TestLoginOutlivesAFailedReplacement(t *testing.T) {
	w := newLoginWorld(t, nil)
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	w.apply(&config.Server{Name: "s", URL: rs.URL})
	w.logIn(as, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })

	asked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var leaked sync.Map
	dead := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("Authorization"); token != "" {
			leaked.Store(token, true)
		}
		once.Do(func() { close(asked) })
		<-release
		out.WriteHeader(http.StatusInternalServerError)
	}))
	defer dead.Close()
	done := make(chan host.Report)
	go func() {
		report, _ := w.host.Apply(context.WithoutCancel(t.Context()), &config.Config{Path: "mcp.json", Servers: []*config.Server{
			{Name: "s", Title: "s", URL: dead.URL, Transport: config.TransportHTTP, Enabled: true},
		}})
		done <- report
	}()
	<-asked
	if got, err := w.whoami("", "s"); err != nil || got != "user" {
		t.Errorf("meanwhile: %q, %v", got, err)
	}
	close(release)
	if report := <-done; report.Failed["s"] == nil || len(report.Replaced) > 0 {
		t.Fatalf("%+v", report)
	}
	as.ExpireAll()
	if got, err := w.whoami("", "s"); err != nil || got != "user" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	leaked.Range(func(any, any) bool {
		t.Error("a token went to the other address")
		return false
	})
}

// What does not concern logins leaves their connections and sessions as they are; a
// server that is gone is not logged in at.
func TestLoginsFollowTheConfiguration(t *testing.T) {
	w := newLoginWorld(t, nil)
	one, two := authtest.NewServer(t, nil), authtest.NewServer(t, nil)
	rs, other := one.NewMCP(nil), two.NewMCP(nil)
	w.apply(&config.Server{Name: "s", URL: rs.URL})
	w.logIn(one, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	report := w.apply(&config.Server{Name: "s", URL: rs.URL, Description: "new"})
	if len(report.Replaced) != 1 {
		t.Fatalf("%+v", report)
	}
	if got, err := w.whoami("", "s"); err != nil || got != "user" {
		t.Errorf("%q, %v", got, err)
	}
	assert.Equal(t, len(one.Families()), 1, "logins")
	// Another address wants another login, and sees nothing of this one.
	w.apply()
	var none *login.Error
	if _, err := w.logins.Sessions().Login(watchdog(t), session.Key{Server: "s"}); !errors.As(err, &none) {
		t.Errorf("of a server that is gone: %v", err)
	}
	w.apply(&config.Server{Name: "s", URL: other.URL})
	w.logIn(two, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	if got, err := w.whoami("", "s"); err != nil || got != "user" {
		t.Errorf("%q, %v", got, err)
	}
	for _, token := range tokens(other) {
		if slices.Contains(tokens(rs), token) {
			t.Error("the other address has seen a token of this one")
		}
	}
}
