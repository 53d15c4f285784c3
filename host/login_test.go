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

// A loginHost is a host that logs users in.
type loginHost struct {
	t      *testing.T
	logins *login.Logins
	host   *host.Host

	activity *activity.Log
	mu       sync.Mutex
	events   []string
}

func newLoginsHost(t *testing.T, configure func(*config.Server, *auth.Config) error) *loginHost {
	t.Helper()
	logins := assert.Value(login.New(session.Memory(), &login.Options{
		Session:   session.Options{RedirectURL: loginCallback},
		Configure: configure,
	}))(t)
	w := &loginHost{t: t, logins: logins}
	w.activity = activity.New(nil, w)
	w.host = host.New(patient((&host.Options{Logins: logins, StateDir: host.NoState, Activity: w.activity}).Times(0, -1)))
	t.Cleanup(func() {
		assert.OK(t, errors.Join(w.host.Close(), logins.Close(), w.activity.Close(context.Background())))
	})
	return w
}

// Write makes the world a sink of the activity log.
func (w *loginHost) Write(_ context.Context, events []activity.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		if e.Kind == "login" || e.Kind == "logout" {
			w.events = append(w.events, fmt.Sprintf("%s %s %s %s", e.Kind, e.User, e.Server, e.Outcome))
		}
	}
	return nil
}

// log returns what was logged of logins.
func (w *loginHost) log() string {
	w.t.Helper()
	assert.OK(w.t, w.activity.Flush(watchdog(w.t)))
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.events, ", ")
}

// apply runs these servers.
func (w *loginHost) apply(servers ...*config.Server) host.Report {
	w.t.Helper()
	for _, s := range servers {
		s.Title, s.Transport = s.Name, config.TransportHTTP
	}
	return assert.Value(w.host.Apply(watchdog(w.t), &config.Config{Path: "mcp.json", Servers: servers}))(w.t)
}

// logIn logs a user in at a server that the authorization server protects.
func (w *loginHost) logIn(as *authtest.Server, user, server string) {
	w.t.Helper()
	ctx := watchdog(w.t)
	if user != "" {
		ctx = session.WithUser(ctx, user)
	}
	callback := assert.Value(as.ApproveAs(ctx, "user "+user, assert.Value(w.host.Login(ctx, session.Key{Server: server}))(w.t).URL))(w.t)

	assert.As[*session.UserError](w.t, assert.Err(w.host.Complete(ctx, callback, &session.CompleteOptions{User: "mallory"})), "completed by another")
	key := assert.Value(w.host.Complete(ctx, callback, &session.CompleteOptions{User: user}))(w.t)
	assert.Equal(w.t, key, (session.Key{User: user, Server: server}))
}

// whoami asks a server who the token is of.
func (w *loginHost) whoami(user, server string) (string, error) {
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
	t.Parallel()
	w := newLoginsHost(t, nil)
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
				wg.Go(func() { assert.Equal(t, answerOf(w.whoami(user, server)), "user "+user, "at %s", server) })
			}
		}
	}
	wg.Wait()
	for server, other := range map[string]string{"one": "two", "two": "one"} {
		sent := tokens(rs[server])
		assert.Equal(t, len(sent), len(users), "%s has seen tokens", server)
		for _, secret := range as[other].Secrets() {
			for _, token := range sent {
				assert.Lacks(t, token, secret, "%s has seen a token of %s", server, other)
			}
		}
	}
	// One leaves; the others stay.
	assert.OK(t, w.host.Logout(session.WithUser(watchdog(t), "alice"), session.Key{Server: "one"}))

	assert.As[*auth.LoginRequiredError](t, assert.Err(w.whoami("alice", "one")), "after the logout")
	assert.ContainsAll(t, w.log(), "login alice one ok", "login bob two ok", "logout alice one ok")
	for _, who := range [][2]string{{"alice", "two"}, {"bob", "one"}, {"bob", "two"}} {
		assert.Equal(t, assert.Value(w.whoami(who[0], who[1]))(t), "user "+who[0])
	}

	assert.As[*host.NoUserError](t, assert.Err(w.host.Login(watchdog(t), session.Key{Server: "one"})), "nobody logs in")
}

// Where all share a connection they share its login, whoever calls.
func TestSharedLogin(t *testing.T) {
	w := newLoginsHost(t, nil)
	as := authtest.NewServer(t, nil)
	w.apply(&config.Server{Name: "s", URL: as.NewMCP(nil).URL})
	w.logIn(as, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	for _, user := range []string{"", "alice"} {
		assert.Equal(t, assert.Value(w.whoami(user, "s"))(t), "user")
	}
	assert.OK(t, assert.Value(w.host.Client(watchdog(t), session.Key{Server: "s"}))(t).Ping(session.WithUser(watchdog(t), "alice")), "by the client")

	assert.As[*login.Error](t, assert.Err(w.host.Login(watchdog(t), session.Key{User: "alice", Server: "s"})), "alice logs in")
	assert.As[*login.Error](t, w.host.Logout(watchdog(t), session.Key{User: "alice", Server: "s"}), "alice logs out")
}

// A server that nobody has approved is not spoken to, for a login neither.
func TestLoginAtAnUnapprovedServer(t *testing.T) {
	w := newLoginsHost(t, nil)
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	w.apply(&config.Server{Name: "s", URL: rs.URL, Source: config.Source{File: "mcp.json", Scope: config.ScopeProject}})

	assert.As[*host.LaunchNotAllowedError](t, assert.Err(w.host.Login(watchdog(t), session.Key{Server: "s"})))
	assert.Equal(t, len(rs.Requests())+len(as.Requests()), 0, "requests")
}

// An Authorization header in the entry is sent, and nobody logs in.
func TestEntryWithItsOwnAuthorization(t *testing.T) {
	w := newLoginsHost(t, nil)
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	w.apply(&config.Server{Name: "s", URL: rs.URL, Headers: map[string]config.Secret{"authorization": "Bearer of-its-own"}})
	until(t, w.host, "s", "refused", func(s host.Status) bool { return s.Err != nil })
	assert.Equal(t, fmt.Sprint(tokens(rs)), fmt.Sprint([]string{"Bearer of-its-own"}), "sent")
	assert.Equal(t, len(as.Requests()), 0, "requests to the authorization server")

	_, err := w.host.Login(watchdog(t), session.Key{Server: "s"})
	assert.As[*login.Error](t, err)
	assert.Lacks(t, fmt.Sprint(err), "of-its-own")
}

func TestNoLogins(t *testing.T) {
	h := open(t, write(t, "s", `{"command": "x"}`), inProcess(newServer("s")))

	_, err := h.Login(watchdog(t), session.Key{Server: "s"})
	assert.As[*login.Error](t, err)
	_, err = h.Complete(watchdog(t), loginCallback+"?code=c&state=s", nil)
	assert.Fails(t, err, "completed")

	assert.As[*host.UnknownServerError](t, h.Logout(watchdog(t), session.Key{Server: "t"}))
	assert.As[*login.Error](t, assert.Err(newLoginsHost(t, nil).logins.Sessions().Login(watchdog(t), session.Key{Server: "gone"})))
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
	w := newLoginsHost(t, nil)
	w.apply(entry())
	login, err := w.host.Login(watchdog(t), session.Key{Server: "s"})
	assert.OK(t, err)
	assert.ContainsAll(t, login.URL, "client_id=by-hand", "scope=read+write", "redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback")
	w.logIn(as, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	assert.Equal(t, assert.Value(w.whoami("", "s"))(t), "user read write")

	w = newLoginsHost(t, nil)
	without := entry()
	without.Auth.Issuer = ""
	w.apply(without)

	_, err = w.host.Login(watchdog(t), session.Key{Server: "s"})
	assert.Contains(t, fmt.Sprint(err), `add "auth": {"issuer": "https://..."} to the entry`, "without issuer")
	assert.Lacks(t, fmt.Sprint(err), "hush-hush", "without issuer")
}

// Configure has the last word, and is asked again when an entry has changed.
func TestConfigureLogins(t *testing.T) {
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	var mu sync.Mutex
	var seen []string
	w := newLoginsHost(t, func(e *config.Server, c *auth.Config) error {
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
	assert.True(t, registered, "the name was not sent")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	assert.Fails(t, w.apply(&config.Server{Name: "s", URL: rs.URL, Description: "bad"}).Failed["s"])
	assert.Equal(t, assert.Value(w.whoami("", "s"))(t), "user", "after a bad change")
	mu.Lock()
	defer mu.Unlock()
	assert.True(t, slices.Contains(seen, "s "), "configured")
	assert.True(t, slices.Contains(seen, "s bad"), "configured")
}

// While a server is replaced by one at another address, which then fails, calls of the
// old one go on, and its session is renewed afterwards.
func TestLoginOutlivesAFailedReplacement(t *testing.T) {
	t.Parallel()
	w := newLoginsHost(t, nil)
	as := authtest.NewServer(t, nil)
	w.apply(&config.Server{Name: "s", URL: as.NewMCP(nil).URL})
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
			{Name: "s", Title: "s", URL: dead.URL, Transport: config.TransportHTTP},
		}})
		done <- report
	}()
	<-asked
	assert.Equal(t, assert.Value(w.whoami("", "s"))(t), "user", "meanwhile")
	close(release)
	report := <-done
	assert.Fails(t, report.Failed["s"])
	assert.Equal(t, len(report.Replaced), 0, "replaced")
	as.ExpireAll()
	// Not while the changed entry is tried again, which has the login then.
	eventually(t, "a call afterwards", func() bool { return answerOf(w.whoami("", "s")) == "user" })
	leaked.Range(func(any, any) bool {
		t.Error("a token went to the other address")
		return false
	})
}

// What does not concern logins leaves their connections and sessions as they are; a
// server that is gone is not logged in at.
func TestLoginsFollowTheConfiguration(t *testing.T) {
	w := newLoginsHost(t, nil)
	one, two := authtest.NewServer(t, nil), authtest.NewServer(t, nil)
	rs, other := one.NewMCP(nil), two.NewMCP(nil)
	w.apply(&config.Server{Name: "s", URL: rs.URL})
	w.logIn(one, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	assert.Equal(t, len(w.apply(&config.Server{Name: "s", URL: rs.URL, Description: "new"}).Replaced), 1, "replaced")
	assert.Equal(t, assert.Value(w.whoami("", "s"))(t), "user")
	assert.Equal(t, len(one.Families()), 1, "logins")
	// Another address wants another login, and sees nothing of this one.
	w.apply()

	assert.As[*login.Error](t, assert.Err(w.logins.Sessions().Login(watchdog(t), session.Key{Server: "s"})), "of a server that is gone")
	w.apply(&config.Server{Name: "s", URL: other.URL})
	w.logIn(two, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	assert.Equal(t, assert.Value(w.whoami("", "s"))(t), "user")
	for _, token := range tokens(other) {
		assert.False(t, slices.Contains(tokens(rs), token), "the other address has seen a token of this one")
	}
}

// A server that wants a login keeps its tools: who calls one learns where to log
// in, not that there is no such tool.
func TestToolsOfAServerThatWantsALogin(t *testing.T) {
	w, as := newLoginsHost(t, nil), authtest.NewServer(t, nil)
	w.apply(&config.Server{Name: "s", URL: as.NewMCP(nil).URL})
	until(t, w.host, "s", "asked to log in", func(s host.Status) bool { return s.Stage == host.StageLogin })
	w.logIn(as, "", "s")
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Tools == 2 })
	as.EndAll()
	assert.As[*auth.LoginRequiredError](t, assert.Err(w.whoami("", "s")), "call")
	until(t, w.host, "s", "asked to log in again", func(s host.Status) bool { return s.Stage == host.StageLogin })
	assert.Equal(t, names(w.host), "s__echo s__whoami", "tools")
	w.logIn(as, "", "s")
	assert.Equal(t, assert.Value(w.whoami("", "s"))(t), "user", "after the next login")
}

// fromFile runs the servers of a file called mcp_servers.json.
func (w *loginHost) fromFile(data string, variables map[string]string) {
	w.t.Helper()
	c := assert.Value(config.Parse(context.Background(), "mcp_servers.json", []byte(data), &config.Options{Scope: config.ScopeUser,
		Lookup: func(name string) (string, bool) { value, ok := variables[name]; return value, ok }}))(w.t)
	for _, s := range c.Servers {
		assert.OK(w.t, s.Err)
		for _, warning := range s.Warnings {
			w.t.Errorf("got the warning %v, want none", warning)
		}
	}
	assert.Value(w.host.Apply(watchdog(w.t), c))(w.t)
}

// IronClaw's entry with the endpoints of an authorization server that publishes nothing.
func TestLoginWithGivenEndpoints(t *testing.T) {
	as := authtest.NewServer(t, &authtest.Options{NoRegistration: true,
		Clients: []authtest.Client{{ID: "by-hand", Secret: "hush-hush", RedirectURIs: []string{loginCallback}}}})
	as.Fail(authtest.MetadataEndpoint, -1, authtest.Fault{Status: http.StatusNotFound})
	rs := as.NewMCP(&authtest.ResourceOptions{NoMetadata: true})
	w := newLoginsHost(t, nil)
	w.fromFile(`{
  "servers": {
    "github": {
      "url": "`+rs.URL+`",
      "auth": {
        "type": "oauth",
        "authorization_url": "`+as.URL(authtest.AuthorizationEndpoint)+`",
        "token_url": "`+as.URL(authtest.TokenEndpoint)+`",
        "client_id": "${GITHUB_OAUTH_CLIENT_ID}",
        "client_secret": "${GITHUB_OAUTH_CLIENT_SECRET}",
        "scopes": ["repo", "read:org"],
        "extra_params": {"access_type": "offline"}
      }
    }
  }
}`, map[string]string{"GITHUB_OAUTH_CLIENT_ID": "by-hand", "GITHUB_OAUTH_CLIENT_SECRET": "hush-hush"})
	login := assert.Value(w.host.Login(watchdog(t), session.Key{Server: "github"}))(t)
	assert.ContainsAll(t, login.URL, "access_type=offline", "client_id=by-hand", "code_challenge_method=S256", "scope=repo+read%3Aorg")
	w.logIn(as, "", "github")
	until(t, w.host, "github", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	assert.Equal(t, assert.Value(w.whoami("", "github"))(t), "user repo read:org")
	assert.Equal(t, as.Count(authtest.MetadataEndpoint), 0, "requests for metadata")
}

// A transport that a program has made itself asks for tokens without saying where they
// go. It gets none of the server that has come into the place of its own.
func TestTokensForATransportOfTheProgram(t *testing.T) {
	w := newLoginsHost(t, nil)
	one, two := authtest.NewServer(t, nil), authtest.NewServer(t, nil)
	entry := &config.Server{Name: "s", URL: one.NewMCP(nil).URL}
	w.apply(entry)
	w.logIn(one, "", "s")
	handler := w.logins.Handler(session.Key{Server: "s"}, entry)
	source := assert.Value(handler.TokenSource(watchdog(t)))(t)
	before, err := source.Token()
	assert.OK(t, err)
	assert.False(t, before.AccessToken == "", "no token")

	w.apply(&config.Server{Name: "s", URL: two.NewMCP(nil).URL})
	w.logIn(two, "", "s")

	assert.As[*login.Error](t, assert.Err(source.Token()), "a source of before gives")
	assert.As[*login.Error](t, assert.Err(handler.TokenSource(watchdog(t))), "a handler of before gives a source")
}
