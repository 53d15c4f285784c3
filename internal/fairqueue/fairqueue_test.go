package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// enter has something enter in a goroutine, and returns when it waits or is in. Done gets
// its name, and how it ended.
func enter(t *testing.T, q *Queue, ctx context.Context, user string, bytes int64, name string, done func(string, error)) {
	t.Helper()
	go func() { done(name, assert.Err(q.Enter(ctx, user, bytes))) }()
	synctest.Wait()
}

// A user with many that wait holds up another one by one turn of each.
func TestUsersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limits{Running: 1, Waiting: 4_000, Bytes: 1 << 20}, nil)
		assert.True(t, q.TryEnter(), "the first: a turn")
		assert.False(t, q.TryEnter(), "the second, with one under way: a turn")
		var got []string
		done := func(name string, err error) {
			assert.Equal(t, err, nil, "%s: error", name)
			got = append(got, name) // one at a time
		}
		for i := range 1_000 {
			enter(t, q, t.Context(), "ann", 1, fmt.Sprint("ann ", i), done)
		}
		for _, user := range []string{"ben", "", "ben", "cid"} {
			enter(t, q, t.Context(), user, 1, user, done)
		}
		for range 1_004 {
			q.Leave()
			synctest.Wait()
		}
		want := []string{"ann 0", "ben", "", "cid", "ann 1", "ben"}
		for i := range 998 {
			want = append(want, fmt.Sprint("ann ", i+2))
		}
		assert.True(t, slices.Equal(got, want), "%q … is %q …", got[:10], want[:10])
		q.Leave()
		assert.True(t, q.TryEnter(), "the last has left: a turn")
	})
}

// A user may have as much waiting as is left for the others.
func TestBounds(t *testing.T) {
	type entry struct {
		user  string
		bytes int64
		want  Bound
	}
	of := func(n int, e entry) []entry { return slices.Repeat([]entry{e}, n) }
	for name, entries := range map[string][]entry{
		"nobody fills all":       append(of(8, entry{"", 0, ""}), entry{"", 0, Count}, entry{"ann", 0, Count}),
		"one user fills a half":  append(of(4, entry{"ann", 0, ""}), entry{"ann", 0, User}, entry{"ben", 0, ""}),
		"two users fill a third": append(append(of(3, entry{"ann", 0, ""}), of(3, entry{"ben", 0, ""})...), entry{"ann", 0, User}, entry{"ben", 0, User}, entry{"cid", 0, ""}),
		"bytes of nobody":        {{"", 60, ""}, {"", 41, Bytes}, {"", 40, ""}, {"ann", 1, Bytes}, {"ann", 0, ""}},
		"bytes of a user":        {{"ann", 30, ""}, {"ann", 41, User}, {"ann", 40, ""}, {"ben", 31, Bytes}, {"ben", 30, ""}},
		"too large by itself":    {{"ann", 101, Bytes}, {"ann", 100, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				q := New(Limits{Running: 1, Waiting: 8, Bytes: 100}, nil)
				q.TryEnter()
				for i, e := range entries {
					assert.Equal(t, q.Look(e.user, e.bytes).Bound, e.want, "a look at %d", i)
					waiting, bytes := q.waiting, q.bytes
					if e.want == "" {
						enter(t, q, ctx, e.user, e.bytes, "", func(string, error) {})
						continue
					}
					got, err := q.Enter(ctx, e.user, e.bytes)
					assert.Is(t, err, ErrFull, "%d", i)
					assert.Equal(t, got, (Refusal{e.want, waiting, bytes}), "%d", i)
				}
				stop()
				synctest.Wait()
				wantEmpty(t, q)
			})
		})
	}
}

// wantEmpty checks that nothing waits in a queue.
func wantEmpty(t *testing.T, q *Queue) {
	t.Helper()
	assert.Equal(t, fmt.Sprint(q.waiting, q.bytes, len(q.lines), q.turns.Len()), "0 0 0 0", "what waits, bytes, lines and turns")
}

// What waits in a queue that is closed fails.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		q := New(Limits{Running: 1, Waiting: 8, Bytes: 100}, closed)
		q.TryEnter()
		var got error
		enter(t, q, t.Context(), "ann", 1, "", func(_ string, err error) { got = err })
		close(closed)
		synctest.Wait()
		assert.Is(t, got, ErrClosed)
		wantEmpty(t, q)
	})
}

// No turn is lost to a context that ends as the turn comes.
func TestTurnAndEndAtOneTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limits{Running: 1, Waiting: 1, Bytes: 1}, nil)
		ended := 0
		for range 100 { // it is by chance which of the two what waits sees first
			assert.True(t, q.TryEnter(), "a turn")
			ctx, stop := context.WithCancel(t.Context())
			entered := make(chan error)
			go func() {
				_, err := q.Enter(ctx, "ann", 1)
				if err == nil {
					q.Leave()
				}
				entered <- err
			}()
			synctest.Wait()
			q.mu.Lock()
			stop()
			q.leave()
			q.mu.Unlock()
			switch err := <-entered; {
			case errors.Is(err, context.Canceled):
				ended++
			case err != nil:
				t.Errorf("got %v, want a turn or the end of the context", err)
			}
			wantEmpty(t, q)
			assert.Equal(t, q.running.Load(), 0, "what runs")
		}
		assert.True(t, ended != 0, "some contexts ended before the turn")
	})
}

// A model is a queue that is simple and slow.
type model struct {
	running int64
	order   []string // users in the order of their turns
	waiting []waiter // the oldest first
}

type waiter struct {
	name, user string
	bytes      int64
}

func (m *model) of(user string) (count int, bytes int64) {
	for _, w := range m.waiting {
		if user == "*" || w.user == user {
			count++
			bytes += w.bytes
		}
	}
	return count, bytes
}

// enter returns whether a waiter waits or, if not, the bound.
func (m *model) enter(l Limits, w waiter) (waits bool, bound Bound) {
	all, allBytes := m.of("*")
	own, ownBytes := m.of(w.user)
	switch {
	case m.running < int64(l.Running):
		m.running++
		return false, ""
	case all >= l.Waiting:
		return false, Count
	case allBytes+w.bytes > l.Bytes:
		return false, Bytes
	case w.user != "" && own > 0 && (own >= l.Waiting-all || ownBytes+w.bytes > l.Bytes-allBytes):
		return false, User
	}
	m.waiting = append(m.waiting, w)
	if !slices.Contains(m.order, w.user) {
		m.order = append(m.order, w.user)
	}
	return true, ""
}

func (m *model) remove(name string) {
	m.waiting = slices.DeleteFunc(m.waiting, func(w waiter) bool { return w.name == name })
	m.order = slices.DeleteFunc(m.order, func(user string) bool { n, _ := m.of(user); return n == 0 })
}

// leave returns the name of what runs next; empty: nothing.
func (m *model) leave() string {
	if len(m.order) == 0 {
		m.running--
		return ""
	}
	user := m.order[0]
	m.order = append(m.order[1:], user)
	next := m.waiting[slices.IndexFunc(m.waiting, func(w waiter) bool { return w.user == user })].name
	m.remove(next)
	return next
}

// FuzzQueue compares the queue with the model. Each byte is a step.
func FuzzQueue(f *testing.F) {
	f.Add([]byte("\x00\x04\x08\x10\x14\x24\x01\x02\x06\x03\x03\x03\x03\x03"))
	f.Add([]byte("\xf0\xf4\xf8\xfc\xf0\xf4\xf8\xfc\xf0\xf4\xf8\xfc\xf0\xf4\xf8\xfc\x02\x01\x05\x01"))
	f.Fuzz(func(t *testing.T, steps []byte) {
		synctest.Test(t, func(t *testing.T) {
			limits := Limits{Running: 2, Waiting: 6, Bytes: 40}
			q, m := New(limits, nil), &model{}
			ended := map[string]error{} // of what the queue has let go
			stops := map[string]context.CancelFunc{}
			want := map[string]error{}
			var mu sync.Mutex // guards ended at the end, when all that wait give up together
			done := func(name string, err error) {
				mu.Lock()
				defer mu.Unlock()
				ended[name] = err
			}
			for i, step := range steps[:min(len(steps), 200)] {
				switch name := fmt.Sprint(i); {
				case step&3 == 0 || step&3 == 3: // something enters
					w := waiter{name, []string{"", "ann", "ben", "cid"}[step>>2&3], int64(step >> 4)}
					waits, bound := m.enter(limits, w)
					if got := q.Look(w.user, w.bytes).Bound; got != bound {
						t.Fatalf("step %d: got %q for %v, want %q", i, got, w, bound)
					}
					if bound != "" {
						continue
					}
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					enter(t, q, ctx, w.user, w.bytes, name, done)
					if waits {
						stops[name] = stop
					} else {
						want[name] = nil
					}
				case step&3 == 1: // something that runs ends
					if m.running == 0 {
						continue
					}
					q.Leave()
					if next := m.leave(); next != "" {
						want[next] = nil
					}
				default: // something gives up
					if len(m.waiting) == 0 {
						continue
					}
					name := m.waiting[int(step>>2)%len(m.waiting)].name
					m.remove(name)
					stops[name]()
					want[name] = context.Canceled
				}
				synctest.Wait()
				if fmt.Sprint(ended) != fmt.Sprint(want) {
					t.Fatalf("step %d: got %v, want %v", i, ended, want)
				}
				if q.waiting != len(m.waiting) || q.running.Load() != m.running {
					t.Fatalf("step %d: got %d that wait and %d that run, want %d and %d", i, q.waiting, q.running.Load(), len(m.waiting), m.running)
				}
			}
		})
	})
}

func BenchmarkLookAtFull(b *testing.B) {
	ctx, stop := context.WithCancel(b.Context())
	q := New(Limits{Running: 1, Waiting: 1_000, Bytes: 1 << 20}, nil)
	q.TryEnter()
	var wg sync.WaitGroup
	for i := range 1_000 {
		wg.Go(func() { _, _ = q.Enter(ctx, fmt.Sprint(i), 1) })
	}
	for q.Look("last", 1).Bound != Count {
	}
	for b.Loop() {
		if q.Look("ann", 1).Bound != Count {
			b.Fatal("there is room")
		}
	}
	stop()
	wg.Wait()
}
