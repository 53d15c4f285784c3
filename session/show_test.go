package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestPromptIsShownOnce(t *testing.T) {
	//report: Logins | punkpeye/mcp-remote#68, neondatabase/mcp-server-neon#186, makeplane/plane#8926, NousResearch/hermes-agent#103198 | each request that is refused opens another window of the browser | one login is shown for all calls that wait
	env := newEnv(t, nil, nil)
	u, release := env.newHeldPrompt()
	m := env.manager(&Options{Prompt: u})
	var done <-chan struct{}
	for _, err := range env.together(m, alice, 8) {
		done = assert.As[*auth.LoginRequiredError](t, err).Done
	}
	release()
	env.await(done, "the end of the login")
	env.mustCall(m, alice)
	assert.Equal(t, u.shown.Load(), 1, "logins shown")
	env.wantRegistrations(1, "of one login")
}

// Who shows a login says so to other processes before another can ask.
func TestPromptIsShownByOneProcess(t *testing.T) {
	env := newEnv(t, nil, nil)
	u, release := env.newHeldPrompt()
	one, two := env.manager(&Options{Prompt: u}), env.manager(&Options{Prompt: u})
	first := env.mustNeedLogin(one, alice)
	assert.True(t, two.entry(alice).lockPrompt(env.ctx) == nil, "the right to show logins is taken")
	assert.Equal(t, env.mustNeedLogin(two, alice).URL, first.URL, "login in the second process")
	release()
	env.await(first.Done, "the end of the login")
	env.mustCall(one, alice)
	assert.Equal(t, u.shown.Load(), 1, "logins shown")
}

func TestDeclinedLoginIsRemembered(t *testing.T) {
	//report: Logins | smart-mcp-proxy/mcpproxy-go#49, NousResearch/hermes-agent#96358, nicobailon/pi-mcp-adapter#121 | a login that was left alone is shown again at each reconnection and each start, by night, too | it is not shown again before the user asks for it; the calls say why
	returns := func(err error) func(*env) *testPrompt {
		return func(*env) *testPrompt {
			return &testPrompt{answer: func(context.Context, string) (string, error) { return "", err }}
		}
	}
	for name, prompt := range map[string]func(*env) *testPrompt{
		"at the prompt":                   returns(auth.ErrDeclined),
		"by not answering till the end":   returns(context.DeadlineExceeded),
		"by a browser that does not open": returns(errors.New("no browser")),
		"at the authorization server":     func(env *env) *testPrompt { return &testPrompt{answer: env.as.Deny} },
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, nil, nil)
			u := prompt(env)
			m := env.manager(&Options{Prompt: u})
			assert.Fails(t, assert.Value(m.Login(env.ctx, alice))(t).Wait(env.ctx))
			for range 3 {
				required := env.mustNeedLogin(m, alice)
				assert.Equal(t, required.URL, "", "login URL")
				assert.True(t, required.Reason != "", "there is a reason")
			}
			assert.OK(t, m.Close())
			m = env.manager(&Options{Prompt: u})
			env.mustNeedLogin(m, alice)
			assert.Equal(t, u.shown.Load(), 1, "logins shown")
			u.server, u.answer = env.as, nil
			assert.OK(t, assert.Value(m.Login(env.ctx, alice))(t).Wait(env.ctx))
			env.mustCall(m, alice)
		})
	}
}

// A callback that is of no use counts as an answer.
func TestPromptThatReturnsNonsense(t *testing.T) {
	for name, callback := range map[string]string{
		"no address":        "::",
		"no state":          callbackURL + "?code=x",
		"of no login":       callbackURL + "?code=x&state=y",
		"of another server": "https://elsewhere.example.com/",
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, nil, nil)
			u := &testPrompt{answer: func(context.Context, string) (string, error) { return callback, nil }}
			m := env.manager(&Options{Prompt: u})
			assert.Fails(t, assert.Value(m.Login(env.ctx, alice))(t).Wait(env.ctx))
			assert.Contains(t, env.mustNeedLogin(m, alice).Reason, "the login failed: response to no login: it", "reason")
			assert.Equal(t, u.shown.Load(), 1, "logins shown")
		})
	}
}

// A login is taken back only when another one has taken its place.
func TestLoginThatCannotBeReplaced(t *testing.T) {
	env := newEnv(t, nil, nil)
	disk := env.keepIn()
	m := env.manager(nil)
	first := env.mustNeedLogin(m, alice)
	env.alter(alice, func(r *record) { r.Login.Expires = time.Now().Add(freshLogin / 2) })
	disk.skip.Store(1) // the login itself
	disk.fail.Store(1)
	assert.As[*StoreError](t, env.call(env.ctx, m, alice))
	n := 0
	for _, err := range disk.Names(env.ctx, pendingPrefix) {
		assert.OK(t, err)
		n++
	}
	assert.Equal(t, n, 1, "logins that wait")
	env.approve(m, first.URL)
	env.mustCall(m, alice)
}

// A code that a process has got is of no use once nobody waits for its approval.
func TestDeviceCodeOfAnotherProcess(t *testing.T) {
	t.Parallel() // it polls after a second
	env := newEnv(t, &authtest.Options{Device: time.Second}, nil)
	env.config.Grant = auth.DeviceCode
	one, two := env.manager(nil), env.manager(nil)
	first := env.mustNeedLogin(one, alice)
	assert.Equal(t, env.mustNeedLogin(two, alice).UserCode, first.UserCode, "code of the second process")
	assert.OK(t, one.Close())
	second := env.mustNeedLogin(two, alice)
	assert.True(t, second.UserCode != first.UserCode, "the user is shown a code for which a process waits")
	assert.OK(t, env.as.ApproveDevice(second.UserCode))
	env.await(second.Done, "the end of the login")
	env.mustCall(two, alice)
}

// What Wait returns does not look as if its caller had given up.
func TestWaitForALoginThatIsCalledOff(t *testing.T) {
	env := newEnv(t, nil, nil)
	m := env.manager(&Options{Prompt: &testPrompt{answer: func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}})
	l := assert.Value(m.Login(env.ctx, alice))(t)
	waited := make(chan error, 1)
	go func() { waited <- l.Wait(env.ctx) }()
	assert.OK(t, m.Logout(env.ctx, alice))
	assert.Equal(t, assert.As[*auth.LoginRequiredError](t, <-waited).Reason, loggedOut, "reason")
}

// In a web program only a user who has said no is not asked again: nothing is
// shown there that they have not clicked on.
func TestLoginThatFailsInAWebProgram(t *testing.T) {
	//report: Logins | cloudflare/agents#833, simstudioai/sim#4441 | a callback that comes too late, or with an error, leaves the login half done, and no other can begin | the login is over, the next call begins another, and says why the last one failed
	for name, test := range map[string]struct{ late, deny bool }{
		"authorization server fails": {},
		"too late":                   {late: true},
		"user says no":               {deny: true},
	} {
		t.Run(name, func(t *testing.T) {
			env, m := withManager(t, nil, nil)
			required := env.mustNeedLogin(m, alice)
			answer := env.as.Approve
			if test.deny {
				answer = env.as.Deny
			}
			callback := assert.Value(answer(env.ctx, required.URL))(t)
			if test.late {
				env.expirePending(m, callback)
			} else {
				env.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 503})
			}
			assert.Fails(t, env.complete(m, callback))
			again := env.mustNeedLogin(m, alice)
			assert.Equal(t, again.URL == "", test.deny, "the user is not asked again")
			assert.True(t, again.URL != required.URL, "it is another login")
		})
	}
}

// expirePending makes the login that a callback belongs to one that has expired.
func (env *env) expirePending(m *Manager, callback string) {
	env.t.Helper()
	name := pendingName(assert.Value(auth.StateOf(callback))(env.t))
	p, at, err := m.loadPending(env.ctx, name)
	assert.OK(env.t, err)
	p.Login.Expires = time.Now().Add(-time.Second)
	assert.OK(env.t, m.store.Delete(env.ctx, name, at))
	assert.OK(env.t, m.putPending(env.ctx, p))
}
