package session

import (
	"strconv"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// lastSent returns the Authorization field of the last request to the server.
func (w *world) lastSent() string {
	all := w.rs.Requests()
	return all[len(all)-1].Header.Get("Authorization")
}

func (e *entry) agedForTest() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read = time.Now().Add(-2 * lookCeiling)
}

// A process that has a session in memory learns that the user has logged out in
// another one.
func TestLogoutElsewhere(t *testing.T) {
	w := newWorld(t, nil, nil)
	one, two := w.manager(nil), w.manager(nil)
	w.mustLogIn(one, alice)
	w.mustCall(two, alice)
	assert.OK(t, one.Logout(w.ctx, alice))
	two.entry(alice).agedForTest()
	resp, _ := w.refusal(two, alice)
	_ = resp.Body.Close()
	assert.Equal(t, w.lastSent(), "", "a token was sent though the user has logged out")
}

// Requests go on while the store hangs.
func TestStoreThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	disk := &tiredDisk{brokenDisk: brokenDisk{Store: storage.NewMemory()}}
	w.keepIn(disk)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	m.entry(alice).agedForTest()
	disk.loads.Store(tooMany)
	w.mustCall(m, alice)
}

// Work on a session is not done twice because it has left the memory meanwhile.
func TestRetiredEntryDoesNothing(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	w.mustLogIn(m, alice)
	e := m.entry(alice)
	m.opts.MaxCached = 1
	now := m.entry(Key{User: "bob", Server: "s"})
	if !e.retired || now.retired {
		t.Fatal("the session is still in memory")
	}
	assert.Equal(t, e.watch() == nil, true, "an entry is watched that nobody looks")
	w.as.ExpireAll()
	assert.OK(t, e.ensure(w.ctx, request{sent: w.grantOf(m, alice).Token.Access}))
	assert.Equal(t, [...]any{e.known == nil, m.entry(alice).known == nil}, [...]any{true, false}, "what is new is known to an entry that nobody uses")
}

// Who waits for a login is not woken because many do.
func TestManyWaitForLogins(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(&Options{MaxCached: 3})
	var waiting []<-chan struct{}
	for i := range 10 {
		waiting = append(waiting, w.mustNeedLogin(m, Key{User: strconv.Itoa(i), Server: "s"}).Done)
	}
	for i, done := range waiting {
		select {
		case <-done:
			t.Errorf("user %d: the login is said to be over", i)
		default:
		}
	}
	w.mustLogIn(m, Key{User: "0", Server: "s"})
	select {
	case <-waiting[0]:
	case <-w.ctx.Done():
		t.Error("who waits is not told of the login")
	}
}
