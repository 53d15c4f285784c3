package session

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestRestartNeedsNoLogin(t *testing.T) {
	//report: Logins | damianvtran/local-operator#185, vellum-ai/vellum-assistant#37851 | a program that was started anew does not know where to renew a token, and asks the user | the endpoints are kept with the login, and the token is renewed
	env, m := loggedIn(t, nil, nil)
	env.as.ExpireAll()
	env.mustCall(env.restart(m), alice)
	env.wantRegistrations(1, "after a restart")
	env.wantRefreshes(1, "after a restart")
}

func TestCachedSessionsAreBounded(t *testing.T) {
	env := newEnv(t, nil, nil)
	m := env.manager(&Options{MaxCached: 3})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		env.mustLogIn(m, Key{User: name, Server: "s"})
	}
	assert.Equal(t, len(m.cached()), 3, "sessions in memory")
	env.mustCall(m, Key{User: "a", Server: "s"})
	keys := 0
	for _, err := range m.Keys(env.ctx) {
		assert.OK(t, err)
		keys++
	}
	assert.Equal(t, keys, 5, "sessions in the store")
}

// Work on a session is not done twice because it has left the memory meanwhile.
func TestRetiredEntryDoesNothing(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	e := m.entry(alice)
	m.opts.MaxCached = 1
	m.entry(bob)
	assert.True(t, e.evicted, "retired")
	assert.True(t, e.watch() == nil, "it is not watched")
	env.as.ExpireAll()
	assert.OK(t, e.ensure(env.ctx, request{sent: env.tokenOf(m, alice)}))
	assert.True(t, e.known == nil, "it knows nothing")
	assert.True(t, m.entry(alice).known != nil, "the entry in its place knows the session")
}

// Who waits for a login is not woken because many do.
func TestManyWaitForLogins(t *testing.T) {
	env := newEnv(t, nil, nil)
	m := env.manager(&Options{MaxCached: 3})
	var waiting []<-chan struct{}
	for i := range 10 {
		waiting = append(waiting, env.mustNeedLogin(m, Key{User: strconv.Itoa(i), Server: "s"}).Done)
	}
	for i, done := range waiting {
		select {
		case <-done:
			t.Errorf("user %d: the login is said to be over", i)
		default:
		}
	}
	env.mustLogIn(m, Key{User: "0", Server: "s"})
	env.await(waiting[0], "the end of the login")
}

// keyLog keeps the keys that OnLogin was called with.
type keyLog struct {
	mu   sync.Mutex
	keys []Key
}

func (l *keyLog) add(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = append(l.keys, key)
}

// check checks which keys were told since the last check.
func (l *keyLog) check(t *testing.T, what string, want ...Key) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Equal(t, fmt.Sprint(l.keys), fmt.Sprint(want), "keys told of %s", what)
	l.keys = nil
}

func TestOnLogin(t *testing.T) {
	env := newEnv(t, nil, nil)
	var told keyLog
	m := env.manager(&Options{OnLogin: told.add})
	env.mustLogIn(m, alice)
	told.check(t, "a login", alice)
	env.as.ExpireAll()
	env.mustCall(m, alice)
	told.check(t, "a renewal")
	env.mustLogIn(m, alice)
	told.check(t, "another login", alice)
	assert.OK(t, m.Logout(env.ctx, alice))
	told.check(t, "a logout")
	for range 2 {
		assert.OK(t, m.SetToken(env.ctx, alice, "one"))
	}
	told.check(t, "a token, set twice", alice)
	assert.OK(t, m.SetHeader(env.ctx, alice, map[string]auth.Secret{"Authorization": "two"}))
	told.check(t, "a header", alice)
	assert.OK(t, m.SetHeader(env.ctx, alice, nil))
	told.check(t, "no header")
}

// A manager that has begun a login is told of it when another one completes it, and one
// that reads it first later is not.
func TestOnLoginElsewhere(t *testing.T) {
	env := newEnv(t, nil, nil)
	var here, there, later keyLog
	begun, other := env.manager(&Options{OnLogin: here.add}), env.manager(&Options{OnLogin: there.add})
	_, callback := env.begin(begun, alice)
	assert.OK(t, env.complete(other, callback))
	there.check(t, "where it was completed", alice)
	env.wantStatus(begun, alice, LoggedIn)
	here.check(t, "where it was begun", alice)
	env.mustCall(env.manager(&Options{OnLogin: later.add}), alice)
	later.check(t, "where it was read")
}

// What panics in the program's own functions, on goroutines of the manager, is an error.
func TestConfigPanics(t *testing.T) {
	env := newEnv(t, nil, nil)
	m := env.manager(&Options{Config: func(Key) (*auth.Config, error) { panic("out of order") }})
	assert.Contains(t, fmt.Sprint(errOf(m.Login(env.ctx, alice))), "panicked: out of order")
}

func TestPromptPanics(t *testing.T) {
	env := newEnv(t, nil, nil)
	m := env.manager(&Options{Prompt: &testPrompt{answer: func(context.Context, string) (string, error) { panic("out of order") }}})
	assert.Contains(t, fmt.Sprint(assert.Value(m.Login(env.ctx, alice))(t).Wait(env.ctx)), "panicked: out of order")
	env.wantStatus(m, alice, LoginPending)
}

// A token endpoint that hangs does not hold up the end, and the store says that the
// answer is missing.
func TestShutdownCutsOffAHungRefresh(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*Manager) error
		want error
	}{
		"Shutdown": {func(m *Manager) error {
			ctx, stop := context.WithCancel(context.Background())
			stop()
			return m.Shutdown(ctx)
		}, context.Canceled},
		"Close": {(*Manager).Close, nil},
	} {
		t.Run(name, func(t *testing.T) {
			env, m := loggedIn(t, &authtest.Options{KeepRefresh: true}, nil)
			m.grace = 0
			call := env.holdRefresh(m, authtest.Fault{})
			defer call.release()
			assert.Is(t, test.end(m), test.want)
			m.grace = patience
			assert.Fails(t, <-call.err)
			r, _, err := env.manager(nil).load(env.ctx, alice, recordName(alice))
			assert.OK(t, err)
			assert.True(t, r.Journal != nil, "the journal says that an answer was lost")
			assert.True(t, r.Grant != nil && r.Ended == "", "the session can be tried")
			env.mustCall(env.manager(nil), alice)
		})
	}
}

func TestRefreshOutlivesClose(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	call := env.holdRefresh(m, authtest.Fault{Commit: true})
	closed := make(chan error, 1)
	go func() { closed <- m.Close() }()
	<-m.closing.Done()
	call.release()
	assert.OK(t, <-closed)
	<-call.err
	env.mustCall(env.manager(nil), alice)
	env.wantRefreshes(1, "in the end")
}
