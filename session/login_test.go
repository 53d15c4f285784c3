package session

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestLoginByURL(t *testing.T) {
	env, m := withManager(t, nil, nil)
	required := env.mustNeedLogin(m, alice)
	assert.Equal(t, required.User, "alice", "user")
	assert.Equal(t, env.wantStatus(m, alice, LoginPending).LoginURL, required.URL, "login URL")
	callback := assert.Value(env.as.Approve(env.ctx, required.URL))(t)
	assert.OK(t, env.complete(m, callback))
	select {
	case <-required.Done:
	default:
		t.Error("who waits for the login is not told of it")
	}
	env.mustCall(m, alice)
	status := env.wantStatus(m, alice, LoggedIn)
	assert.True(t, status.Renewable, "renewable")
	assert.Equal(t, status.LoginURL, "", "login URL")
	assert.As[*auth.StateError](t, env.complete(m, callback), "the same callback again")
}

func TestManyRefusalsOneLogin(t *testing.T) {
	env, m := withManager(t, nil, nil)
	urls := map[string]bool{}
	for _, err := range env.together(m, alice, 8) {
		urls[assert.As[*auth.LoginRequiredError](t, err).URL] = true
	}
	assert.Equal(t, len(urls), 1, "logins")
	env.wantRegistrations(1, "of one login")
}

func TestLoginIsCompletedElsewhere(t *testing.T) {
	//report: Logins | openai/codex#14144 | the user logs in at one process while another runs | the running one takes the login, and its calls go on
	env := newEnv(t, nil, nil)
	here, there := env.manager(nil), env.manager(nil)
	l, callback := env.begin(here, alice)
	required := env.mustNeedLogin(here, alice)
	waited := make(chan error, 1)
	go func() { waited <- l.Wait(env.ctx) }()
	assert.OK(t, env.complete(there, callback))
	passLook(here)
	assert.OK(t, <-waited)
	env.await(required.Done, "the end of the login")
	env.mustCall(here, alice)
}

func TestLoginByDeviceCode(t *testing.T) {
	env := newEnv(t, &authtest.Options{Device: time.Second}, nil)
	env.config.Grant = auth.DeviceCode
	l := assert.Value(env.manager(nil).Login(env.ctx, alice))(t)
	assert.True(t, l.UserCode != "", "there is a code")
	assert.Equal(t, l.URL, env.as.Issuer+"/device", "URL")
}

func TestServerMovesToAnotherAuthorizationServer(t *testing.T) {
	other := authtest.NewServer(t, nil)
	moved := false
	env, m := loggedIn(t, nil, &authtest.ResourceOptions{
		Others: []*authtest.Server{other},
		Metadata: func(d map[string]any) {
			if moved {
				d["authorization_servers"] = []string{other.Issuer}
			} else if all, ok := d["authorization_servers"].([]string); ok {
				d["authorization_servers"] = all[:1]
			}
		},
	})
	env.mustCall(m, alice)
	moved = true
	env.as.EndAll()
	assert.True(t, strings.HasPrefix(env.mustNeedLogin(m, alice).URL, other.Issuer), "the login is at the new authorization server")
	for _, r := range other.Requests() {
		for _, s := range env.as.Secrets() {
			assert.Lacks(t, r.Body+r.Header.Get("Authorization"), s, "%s %s", r.Method, r.Endpoint)
		}
	}
	assert.Equal(t, other.Count(authtest.RegistrationEndpoint), 1, "registrations at the new one")
}

// A login is for the address that the server had when it was begun.
func TestServerMovesDuringTheLogin(t *testing.T) {
	env, m := withManager(t, nil, nil)
	_, callback := env.begin(m, alice)
	env.serve(nil)
	assert.As[*auth.StateError](t, env.complete(m, callback))
	env.wantNothingSent(m, alice)
	env.wantAllEnded()
	env.mustLogIn(m, alice)
	env.mustCall(m, alice)
}

// What was found out at one address is not used at another one.
func TestServerMovesBeforeTheLogin(t *testing.T) {
	env, m := withManager(t, nil, nil)
	env.mustNeedLogin(m, alice)
	env.serve(nil)
	assert.Equal(t, env.wantStatus(m, alice, LoggedOut).LoginURL, "", "login URL")
	l := assert.Value(m.Login(env.ctx, alice))(t)
	assert.Equal(t, assert.Value(url.Parse(l.URL))(t).Query().Get("resource"), env.rs.URL, "resource of the login")
	env.approve(m, l.URL)
	env.mustCall(m, alice)
}

// A session comes back with the address that it is for.
func TestServerMovesBack(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	rs, config := env.rs, env.config
	env.serve(nil)
	env.mustNeedLogin(m, alice)
	env.rs, env.config = rs, config
	env.mustCall(m, alice)
}

// An authorization server that has forgotten the program says so to the user and
// to no one else.
func TestForgottenClientIsNoDeadEnd(t *testing.T) {
	//report: Logins | supabase/mcp#355, anthropics/claude-code#84614, punkpeye/mcp-remote#36, nicobailon/pi-mcp-adapter#90, diillson/chatcli#1308 | an authorization server has forgotten a client that had registered itself, and tells only the browser | the next login that the user asks for registers a new one
	env, m := loggedIn(t, nil, nil)
	env.as.Purge()
	env.as.EndAll()
	assert.Fails(t, errOf(env.as.Approve(env.ctx, assert.Value(m.Login(env.ctx, alice))(t).URL)), "a client that was forgotten")
	env.expireLogin(alice)
	env.mustLogIn(m, alice)
	env.mustCall(m, alice)
	env.wantRegistrations(2, "in the end")
}

// expireLogin has the login that waits for a user be over.
func (env *env) expireLogin(key Key) {
	env.t.Helper()
	env.alter(key, func(r *record) { r.Login.Expires = time.Now() })
}

// That a session has ended is written down before anything is done about it.
func TestEndThatCannotBeWrittenDown(t *testing.T) {
	env, disk, m := loggedInAt(t)
	env.as.EndAll()
	disk.skip.Store(1) // the journal
	disk.fail.Store(1)
	assert.As[*StoreError](t, env.call(env.ctx, m, alice))
	assert.Equal(t, assert.Value(m.Status(env.ctx, alice))(t).LoginURL, "", "login URL")
	env.wantRegistrations(1, "before the end is known")
	env.mustNeedLogin(m, alice)
}

// The authorization server may forget the program while the user logs in.
func TestClientIsForgottenDuringTheLogin(t *testing.T) {
	env, m := withManager(t, nil, nil)
	_, callback := env.begin(m, alice)
	env.as.Purge()
	assert.Equal(t, assert.As[*auth.OAuthError](t, env.complete(m, callback)).Code, "invalid_client", "code")
	env.mustLogIn(m, alice)
	env.mustCall(m, alice)
	env.wantRegistrations(2, "in the end")
}

// A manager that is being closed leaves logins to the others.
func TestCompleteAfterClose(t *testing.T) {
	env := newEnv(t, nil, nil)
	one, two := env.manager(nil), env.manager(nil)
	_, callback := env.begin(one, alice)
	assert.OK(t, one.Close())
	assert.Is(t, env.complete(one, callback), ErrClosed)
	assert.OK(t, env.complete(two, callback))
	env.mustCall(two, alice)
}

func TestCallbackOfAnotherUser(t *testing.T) {
	env, m := withManager(t, nil, nil)
	_, callback := env.begin(m, alice)
	before := env.as.Count(authtest.TokenEndpoint)
	assert.As[*UserError](t, errOf(m.Complete(env.ctx, callback, &CompleteOptions{User: "mallory"})))
	assert.Equal(t, env.as.Count(authtest.TokenEndpoint), before, "token requests")
	assert.Value(m.Complete(env.ctx, callback, &CompleteOptions{User: "alice"}))(t)
}

func TestCallbackIsTakenOnce(t *testing.T) {
	env := newEnv(t, nil, nil)
	managers := []*Manager{env.manager(nil), env.manager(nil)}
	_, callback := env.begin(managers[0], alice)
	errs := make(chan error)
	for i := range 8 {
		go func() { errs <- env.complete(managers[i%2], callback) }()
	}
	completed := 0
	for range 8 {
		if err := <-errs; err == nil {
			completed++
		} else if !errors.As(err, new(*auth.StateError)) {
			t.Errorf("got error %v, want an *auth.StateError", err)
		}
	}
	assert.Equal(t, completed, 1, "completed")
	assert.Equal(t, env.as.Granted("authorization_code"), 1, "codes taken")
}
