package session

import (
	"context"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// hurry makes the login that waits one that is about to expire.
func (w *world) hurry(key Key) {
	w.t.Helper()
	assert.Value(newEntry(&Manager{store: w.store}, key).change(w.ctx, func(r *record) *record {
		l := *r.Login
		l.Expires = time.Now().Add(freshLogin / 2)
		return r.with(func(r *record) { r.Login = &l })
	}))(w.t)
}

// A login is taken back only when another one has taken its place.
func TestLoginThatCannotBeReplaced(t *testing.T) {
	w := newWorld(t, nil, nil)
	disk := w.breakable()
	m := w.manager(nil)
	first := w.mustNeedLogin(m, alice)
	w.hurry(alice)
	disk.skip.Store(1) // the login itself
	disk.fail.Store(1)
	assert.As[*StoreError](t, errOf(w.call(w.ctx, m, alice)))
	n := 0
	for name, err := range disk.Names(w.ctx, pendingPrefix) {
		if n++; err != nil || n > 1 {
			t.Errorf("%s is left, error %v", name, err)
		}
	}
	w.approve(m, first.URL)
	w.mustCall(m, alice)
}

// Who shows a login says so to other processes before anybody can ask.
func TestPromptIsShownByOneProcess(t *testing.T) {
	t.Parallel()
	for range 3 {
		w := newWorld(t, nil, nil)
		asked := make(chan struct{})
		u := &user{server: w.as, answer: func(ctx context.Context, url string) (string, error) {
			<-asked
			return w.as.Approve(ctx, url)
		}}
		one, two := w.manager(&Options{Prompt: u}), w.manager(&Options{Prompt: u})
		first := w.mustNeedLogin(one, alice)
		if unlock := two.entry(alice).lockPrompt(w.ctx); unlock != nil {
			t.Error("nobody has the right to show logins")
			unlock()
		}
		assert.Equal(t, w.mustNeedLogin(two, alice).URL, first.URL, "both processes have begun a login")
		close(asked)
		select {
		case <-first.Done:
		case <-w.ctx.Done():
		}
		w.mustCall(one, alice)
		assert.Equal(t, u.times(), 1, "the user was asked")
		_, _ = one.Close(), two.Close()
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
			w := newWorld(t, nil, nil)
			u := &user{answer: func(context.Context, string) (string, error) { return callback, nil }}
			m := w.manager(&Options{Prompt: u})
			assert.Fails(t, assert.Value(m.Login(w.ctx, alice))(t).Wait(w.ctx), "nobody has logged in")
			assert.Equal(t, [...]any{w.mustNeedLogin(m, alice).Reason == "", u.times()}, [...]any{false, 1}, "the user was asked")
		})
	}
}

// A code that a process has got is of no use once nobody waits for its approval.
func TestDeviceCodeOfAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &authtest.Options{Device: &authtest.DeviceOptions{}}, nil)
	w.config.Grant = auth.DeviceCode
	one, two := w.manager(nil), w.manager(nil)
	first := w.mustNeedLogin(one, alice)
	assert.Equal(t, w.mustNeedLogin(two, alice).UserCode, first.UserCode, "both processes have begun a login")
	_ = one.Close()
	second := w.mustNeedLogin(two, alice)
	if second.UserCode == first.UserCode {
		t.Fatal("the user is shown a code that nobody waits for")
	}
	assert.OK(t, w.as.ApproveDevice(second.UserCode))
	select {
	case <-second.Done:
	case <-w.ctx.Done():
	}
	w.mustCall(two, alice)
}

// What Wait returns does not look as if its caller had given up.
func TestWaitForALoginThatIsCalledOff(t *testing.T) {
	w := newWorld(t, nil, nil)
	u := &user{answer: func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}
	m := w.manager(&Options{Prompt: u})
	l := assert.Value(m.Login(w.ctx, alice))(t)
	waited := make(chan error, 1)
	go func() { waited <- l.Wait(w.ctx) }()
	assert.OK(t, m.Logout(w.ctx, alice))
	assert.Equal(t, assert.As[*auth.LoginRequiredError](t, <-waited).Reason, loggedOut)
}

// In a web program only a user who has said no is not asked again: nothing is
// shown there that they have not clicked on.
func TestLoginThatFailsInAWebProgram(t *testing.T) {
	for name, c := range map[string]struct {
		fault authtest.Fault
		late  bool
		deny  bool
	}{
		"authorization server fails": {fault: authtest.Fault{Status: 503}},
		"too late":                   {late: true},
		"user says no":               {deny: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			m := w.manager(nil)
			required := w.mustNeedLogin(m, alice)
			answer := w.as.Approve
			if c.deny {
				answer = w.as.Deny
			}
			callback := assert.Value(answer(w.ctx, required.URL))(t)
			if c.late {
				w.tooLate(m, callback)
			}
			w.as.Fail(authtest.TokenEndpoint, 1, c.fault)
			assert.Fails(t, errOf(m.Complete(w.ctx, callback, nil)), "completed")
			again := w.mustNeedLogin(m, alice)
			assert.Equal(t, [...]any{(again.URL == ""), again.URL == required.URL}, [...]any{c.deny, false})
		})
	}
}

// tooLate makes the login that a callback belongs to one that has expired.
func (w *world) tooLate(m *Manager, callback string) {
	w.t.Helper()
	state := assert.Value(auth.StateOf(callback))(w.t)
	p, at, err := m.loadPending(w.ctx, pendingName(state))
	assert.OK(w.t, err)
	p.Login.Expires = time.Now().Add(-time.Second)
	assert.OK(w.t, m.store.Delete(w.ctx, pendingName(state), at))
	assert.OK(w.t, m.putPending(w.ctx, p))
}
