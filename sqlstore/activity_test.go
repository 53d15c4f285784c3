package sqlstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

func someEvents(n int) (events []activity.Event) {
	for i := range n {
		events = append(events, activity.Event{ID: strconv.Itoa(i), Kind: "call", Time: time.Now()})
	}
	return events
}

func lastError(a *sqlstore.Activity, ctx context.Context) (last error) {
	for _, err := range a.Events(ctx, nil) {
		last = err
	}
	return last
}

func collect(t *testing.T, a *sqlstore.Activity, f *activity.Filter) (events []activity.Event) {
	t.Helper()
	for e, err := range a.Events(t.Context(), f) {
		assert.OK(t, err)
		events = append(events, e)
	}
	return events
}

func idsOf(events []activity.Event) string {
	var ids []string
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

// What a log records can be read in another process, as it was.
func TestActivity(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		log := activity.New(&activity.Options{KeepArguments: true}, w.one.Activity(nil))
		full := activity.Event{
			Time: time.Unix(5, 7).UTC(), ID: "full'); --", Parent: "p", Kind: "call", User: "u\nv", Server: "s", Tool: "té", Outcome: "denied",
			Error: "e\u2028?$1", Duration: time.Second, ResultBytes: 3, Arguments: json.RawMessage(`{"a": "\u0000"}`), Detail: map[string]string{"k": "v\x00"},
		}
		log.Record(t.Context(), full)
		log.Record(t.Context(), activity.Event{ID: "nul", Kind: "start", User: "a\x00b"})
		assert.OK(t, log.Close(t.Context()))
		got := collect(t, w.two.Activity(nil), nil)
		assert.Equal(t, idsOf(got), "nul full'); --")
		assert.Equal(t, got[0].User, "a\uFFFDb", "user with NUL")
		assert.True(t, got[0].Detail == nil && got[0].Arguments == nil, "the first event has nothing more")
		same := &activity.Filter{User: "a\x00b", Kinds: []string{"start", "a\x00\xff"}}
		assert.Equal(t, idsOf(collect(t, w.two.Activity(nil), same)), "nul", "found by a filter with NUL")
		assert.Equal(t, len(got[1].ArgumentHash), 76, "length of the hash")
		full.ArgumentHash, full.ArgumentBytes = got[1].ArgumentHash, int64(len(full.Arguments))
		one, _ := json.Marshal(full)
		other, _ := json.Marshal(got[1])
		assert.Equal(t, string(other), string(one), "event")
	})
}

// The database finds what the filter of a Memory finds, in any combination.
func TestFilters(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a, m := p.open(t).one.Activity(nil), activity.NewMemory(1000)
		base := time.Unix(1000, 0).UTC()
		var events []activity.Event
		for i := range 64 {
			pick := func(bit int, one, other string) string {
				if i>>bit&1 == 0 {
					return one
				}
				return other
			}
			events = append(events, activity.Event{
				ID: strconv.Itoa(i), Time: base.Add(time.Duration(i) * time.Second), Kind: pick(0, "call", "start"), User: pick(1, "ann", "bob"),
				Server: pick(2, "s", "t"), Tool: pick(3, "x", "y"), Outcome: pick(4, "ok", "error"), Parent: pick(5, "", "turn"),
			})
		}
		assert.OK(t, a.Write(t.Context(), events))
		_ = m.Write(t.Context(), events)
		for i := range 256 {
			f := &activity.Filter{}
			for bit, limit := range []func(){
				func() { f.User = "ann" },
				func() { f.Server = "t" },
				func() { f.Tool = "x" },
				func() { f.Kinds = []string{"call", "stop"} },
				func() { f.Outcomes = []string{"error"} },
				func() { f.Since = base.Add(10 * time.Second) },
				func() { f.Until = base.Add(50 * time.Second) },
				func() { f.Parent = "turn" },
			} {
				if i>>bit&1 != 0 {
					limit()
				}
			}
			assert.Equal(t, idsOf(collect(t, a, f)), idsOf(m.Recent(f, 0)), "%+v", f)
		}
		for _, f := range []*activity.Filter{{ID: "7"}, {ID: "none"}, {Since: time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC)}, {Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, {User: "' OR 1=1 --"}} {
			assert.Equal(t, idsOf(collect(t, a, f)), idsOf(m.Recent(f, 0)), "%+v", f)
		}
	})
}

// Many events come in pages, and those that are written meanwhile do not.
func TestPages(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a := p.open(t).one.Activity(nil)
		assert.OK(t, a.Write(t.Context(), nil))
		assert.OK(t, a.Write(t.Context(), someEvents(400)))
		want := someEvents(400)
		slices.Reverse(want)
		var got []activity.Event
		for e, err := range a.Events(t.Context(), nil) {
			assert.OK(t, err)
			if len(got)%100 == 0 {
				assert.OK(t, a.Write(t.Context(), []activity.Event{{ID: "late"}})) // reading holds no connection
			}
			got = append(got, e)
		}
		assert.Equal(t, idsOf(got), idsOf(want), "read")
		for range a.Events(t.Context(), nil) {
			break // must not go on
		}
	})
}

// A batch is written as a whole or not at all.
func TestBatchIsAllOrNothing(t *testing.T) {
	db := openSQLite(t, t.TempDir()+"/x.db")
	d := mustNew(t, db, sqlstore.SQLite, nil)
	assert.OK(t, d.Migrate(t.Context()))
	assert.Value(db.Exec(`CREATE TRIGGER no BEFORE INSERT ON mcpbelt_activity WHEN NEW.event_id = '70' BEGIN SELECT RAISE(ABORT, 'no'); END`))(t)
	a := d.Activity(nil)
	assert.Fails(t, a.Write(t.Context(), someEvents(100)))
	assert.Equal(t, len(collect(t, a, nil)), 0, "events that are written")
}

// A sink with bounds keeps them by itself.
func TestKeep(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a := p.open(t).one.Activity(&sqlstore.ActivityOptions{KeepAge: time.Minute, KeepEvents: 3})
		events := someEvents(1010) // more than are deleted at once
		events[1008].Time = time.Now().Add(-time.Hour)
		assert.OK(t, a.Write(t.Context(), events))
		assert.Equal(t, idsOf(collect(t, a, nil)), "1009 1007 1006", "left")
		assert.OK(t, a.Write(t.Context(), events[:10]))
		assert.Equal(t, len(collect(t, a, nil)), 13, "left: it looks now and then")
	})
}

// Several write at once, from several connections, and nothing is lost.
func TestManyWriters(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		var wg sync.WaitGroup
		for i := range 4 {
			a := w.one.Activity(nil)
			if i%2 == 1 {
				a = w.two.Activity(nil)
			}
			wg.Go(func() {
				for j := range 10 {
					assert.OK(t, a.Write(t.Context(), []activity.Event{{ID: fmt.Sprint(i, ".", j)}, {ID: "second"}}))
				}
			})
		}
		wg.Wait()
		assert.Equal(t, len(collect(t, w.one.Activity(nil), nil)), 80, "events")
	})
}
