//go:build integration

package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A told is what a watch of a store has yielded.
type told struct {
	names chan string
	stop  func() // ends the watch, and waits for it
}

func watch(t testing.TB, s storage.Store, prefix string) *told {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &told{names: make(chan string, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, err := range s.(storage.Watcher).Watch(ctx, prefix) {
			if err == nil {
				w.names <- name
			}
		}
	}()
	w.stop = func() { cancel(); <-done }
	t.Cleanup(w.stop)
	w.await(t, "")
	return w
}

func (w *told) await(t testing.TB, name string) {
	t.Helper()
	until(t, "a word of "+name, func() bool {
		select {
		case got := <-w.names:
			return got == name
		default:
			return false
		}
	})
}

// listening waits until that many connections listen to notifications.
func listening(t testing.TB, db *sql.DB, want int) {
	t.Helper()
	const query = `SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN mcpbelt_%' AND pid <> pg_backend_pid()`
	until(t, fmt.Sprint(want, " connections that listen"), func() bool {
		var got int
		assert.OK(t, db.QueryRowContext(t.Context(), query).Scan(&got))
		return got == want
	})
}

// until waits until something is so, which no event tells, for two minutes at most.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never came to: %s", what)
		}
	}
}

// Changes of another process are told by notifications alone: at once, through one
// connection for all watches, also those that come while a notification is not due, and
// those made while the connection was lost.
func TestNotifications(t *testing.T) {
	p := postgresPlace(pgtest.New(t).URL)
	w := p.open(t)
	sqlstore.NeverPoll(w.one)
	db, _, _ := p.fresh(t)
	ctx := t.Context()
	var all []*told
	for i := range 8 {
		all = append(all, watch(t, w.one.Store(fmt.Sprint("space ", i%4)), "a"))
	}
	listening(t, db, 1)
	there := w.two.Store("space 1")
	at := map[string]storage.Revision{}
	save := func(name string) {
		t.Helper()
		at[name] = assert.Value(there.Save(ctx, name, nil, at[name]))(t)
	}
	for range 20 {
		save("a")
		all[1].await(t, "a")
	}
	for range 3 {
		save("a.first")
		save("a.second") // too early for a notification of its own
		all[5].await(t, "a.second")
	}
	assert.Value(db.ExecContext(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN mcpbelt_%' AND pid <> pg_backend_pid()`))(t)
	save("a.lost")
	all[1].await(t, "a.lost")
	listening(t, db, 1)
	for _, w := range all {
		w.stop()
	}
	listening(t, db, 0)
}
