package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A process that has a session in memory learns that the user has logged out in
// another one.
func TestLogoutElsewhere(t *testing.T) {
	env, one := loggedIn(t, nil, nil)
	two := env.manager(nil)
	env.mustCall(two, alice)
	assert.OK(t, one.Logout(env.ctx, alice))
	passReading(two, alice)
	env.wantNothingSent(two, alice)
}

// Requests go on while the store hangs.
func TestStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &testStore{Store: storage.NewMemory()}
		m, config := newOffline(t, sealed(t, d))
		defer m.Close()
		assert.OK(t, m.SetToken(t.Context(), alice, "a token"))
		passReading(m, alice)
		d.load = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		header := map[string][]string{}
		assert.OK(t, m.Handler(alice).Authenticate(t.Context(), header, "POST", config.URL, nil))
		assert.Equal(t, header["Authorization"][0], "Bearer a token", "Authorization")
	})
}

// A record that nobody can read does not keep its user from logging in.
func TestLoginReplacesACorruptSession(t *testing.T) {
	env, disk, m := loggedInAt(t)
	env.mustLogIn(m, bob)
	env.spoil(disk, recordName(alice), atSealed)
	m = env.restart(m)
	assert.True(t, env.wantStatus(m, alice, LoggedOut).Reason != "", "the status has a reason")
	required := env.mustNeedLogin(m, alice)
	assert.Contains(t, required.Reason, "cannot be read")
	env.approve(m, required.URL)
	env.mustCall(m, alice)
	env.mustCall(m, bob)
}

// What another version of the program has written is left to that.
func TestSessionOfAnotherFormatIsKept(t *testing.T) {
	env, disk, m := loggedInAt(t)
	env.spoil(disk, recordName(alice), atVersion)
	m = env.restart(m)
	assert.As[*seal.CorruptError](t, env.call(env.ctx, m, alice))
	assert.As[*seal.CorruptError](t, errOf(m.Login(env.ctx, alice)))
	env.spoil(disk, recordName(alice), atVersion)
	env.mustCall(m, alice)
}

func TestNothingIsSentThatCannotBeWrittenDown(t *testing.T) {
	env, disk, m := loggedInAt(t)
	env.as.ExpireAll()
	disk.fail.Store(-1)
	before := env.as.Count(authtest.TokenEndpoint)
	err := env.call(env.ctx, m, alice)
	assert.As[*StoreError](t, err)
	assert.Is(t, err, errDisk)
	assert.Equal(t, env.as.Count(authtest.TokenEndpoint), before, "token requests, whose answers nobody could have saved")
	disk.fail.Store(0)
	env.mustCall(m, alice)
}

func TestAnswerIsSavedBeforeItIsUsed(t *testing.T) {
	env, disk, m := loggedInAt(t)
	env.as.ExpireAll()
	disk.skip.Store(1) // the journal
	disk.fail.Store(3)
	env.mustCall(m, alice)
	assert.Equal(t, disk.fail.Load(), 0, "saves that have to fail before the token is used")
	env.wantRefreshes(1, "in the end")
}

// An answer that cannot be saved before Close is lost, and the journal tells so.
func TestAnswerThatIsNeverSaved(t *testing.T) {
	env, disk, m := loggedInAt(t)
	disk.skip.Store(1)
	disk.fail.Store(-1)
	call := env.holdRefresh(m, authtest.Fault{Commit: true})
	call.release()
	call.giveUp()
	<-call.err
	assert.OK(t, m.Close())
	disk.fail.Store(0)
	assert.Equal(t, env.mustNeedLogin(env.manager(nil), alice).Reason, lostReason, "reason")
}

// An answer that could not be saved is saved as soon as that is possible, though
// nobody asks for it.
func TestAnswerIsSavedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, config := newOffline(t, Memory())
		defer m.Close()
		e := m.entry(alice)
		ctx, stop := context.WithCancel(t.Context())
		stop() // as if it had taken too long
		grant := &auth.TokenSet{Token: auth.Token{Access: "a", Type: "Bearer"}}
		assert.Fails(t, e.keep(ctx, &answer{grant: grant, url: config.URL, login: true}, true))
		time.Sleep(time.Minute)
		r, _, err := m.load(t.Context(), alice, e.name)
		assert.OK(t, err)
		assert.True(t, r.Grant != nil, "the answer is saved")
		assert.True(t, e.takeUnsaved() == nil, "no answer is left in memory")
	})
}
