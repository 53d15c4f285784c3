package sessions_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/internal/sessions"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(most int) *sessions.Store {
	return sessions.New(most, func() (func(), error) { return func() {}, nil })
}

func userKey(n int) session.Key { return session.Key{User: fmt.Sprint("user", n), Server: "s"} }

// A session is kept for its user and server, once, and the oldest goes where there are too many.
func TestStore(t *testing.T) {
	st := newStore(2)
	old, now := new(int), new(int) // servers
	var all [4]*transport.Session
	for i := range all {
		all[i] = new(transport.Session)
		end := st.Put(userKey(i), now, all[i], 0)
		if i < 2 && len(end) > 0 || i >= 2 && (len(end) != 1 || end[0] != all[i-2]) {
			t.Errorf("session %d: got %d to end", i, len(end))
		}
	}
	assert.False(t, st.Take(userKey(3), old) == all[3], "session of another server")
	assert.Equal(t, st.Take(userKey(3), now), all[3])
	got := st.Take(userKey(3), now)
	assert.False(t, got == all[3] || got == nil, "another session once it was taken")
	again := new(transport.Session)
	assert.Equal(t, fmt.Sprint(st.Put(userKey(2), now, again, 0)), fmt.Sprint([]*transport.Session{all[2]}), "to end")
	assert.Equal(t, len(st.All(old)), 0)
	assert.Equal(t, fmt.Sprint(st.All(now)), fmt.Sprint([]*transport.Session{again}), "the one that is left")
	sessions.EndAll(nil)
}

// A session is kept as long as was said, and one that is taken before does not expire.
func TestStoreExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := new(int)
		visits := 0
		var closing error
		st := sessions.New(8, func() (func(), error) { visits++; return func() {}, closing })
		kept := new(transport.Session)
		st.Put(userKey(1), server, kept, time.Minute)
		st.Put(userKey(2), server, kept, time.Minute)
		time.Sleep(30 * time.Second)
		assert.Equal(t, st.Take(userKey(2), server), kept, "no session after half of the time")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.False(t, st.Take(userKey(1), server) == kept, "session after its time")
		assert.Equal(t, visits, 1, "visits")
		closing = errors.New("it is being closed")
		st.Put(userKey(1), server, kept, time.Minute)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, len(st.All(server)), 1)
	})
}
