package activity_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func numbered(i int) activity.Event { return activity.Event{Kind: "call", ID: strconv.Itoa(i)} }

func ids(events []activity.Event) string {
	var all []string
	for _, e := range events {
		if e.Kind == "dropped" {
			all = append(all, "-"+e.Detail["events"])
			continue
		}
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}

// Events come in order, to every sink, in batches.
func TestOrder(t *testing.T) {
	a, b := newGate(), activity.NewMemory(2000)
	a.enter = make(chan struct{}, 100)
	l := closing(t, activity.New(nil, a, nil, b))
	l.Record(t.Context(), numbered(0))
	<-a.enter // busy with the first
	for i := range 1000 {
		l.Record(t.Context(), numbered(i+1))
	}
	close(a.open)
	mustFlush(t, l)
	assert.Equal(t, len(a.got()), 1001)
	assert.Equal(t, a.writes, 1+4)
	for i, e := range a.got() {
		assert.Equal(t, e.ID, strconv.Itoa(i), "event")
	}
	assert.Equal(t, ids(b.Recent(nil, 3)), "1000 999 998", "the newest")
}

// A sink that hangs does not hold up who records, and what it missed is told in its
// place.
func TestSlowSink(t *testing.T) {
	slow, other := newGate(), activity.NewMemory(0)
	slow.enter = make(chan struct{}, 100)
	l := closing(t, activity.New(nil, slow, other))
	for i := range 1 + 4096 + 7 {
		l.Record(t.Context(), numbered(i))
		if i == 0 {
			<-slow.enter
		}
	}
	slow.open <- struct{}{}
	for range 4096 / 256 {
		<-slow.enter
		slow.open <- struct{}{}
	}
	<-slow.enter
	slow.open <- struct{}{} // what is missing
	l.Record(t.Context(), numbered(5000))
	close(slow.open)
	mustFlush(t, l)
	assert.Equal(t, ids(slow.got()[4094:]), "4094 4095 4096 -7 5000", "in the slow sink")
	assert.Equal(t, ids(other.Recent(nil, 4)), "5000 -7 4096 4095", "in the other sink")
}

// A sink that fails or panics is told of once, and the events that it lost later.
func TestFailingSink(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	g, other := newGate(), activity.NewMemory(0)
	close(g.open)
	l := activity.New(&activity.Options{Logger: logger}, g, other, panicking{})
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	g.failWith(fmt.Errorf("cannot log in with %s", secret))
	for i := range 3 {
		l.Record(t.Context(), numbered(i))
		err := l.Flush(t.Context())
		assert.Contains(t, fmt.Sprint(err), "cannot log in", "Flush")
		assert.Contains(t, fmt.Sprint(err), "ouch", "Flush")
	}
	g.failWith(nil)
	l.Record(t.Context(), numbered(3))
	_ = l.Flush(t.Context())
	assert.Equal(t, ids(g.got()), "-3 3", "written")
	assert.Equal(t, ids(other.Recent(nil, 0)), "3 2 1 0", "the other sink has")
	assert.OK(t, l.Close(t.Context()))
	text := out.String()
	if n := strings.Count(text, "events are lost"); n != 2 || strings.Contains(text, secret) ||
		!strings.Contains(text, "written again") || !strings.Contains(text, "missing=3") {
		t.Errorf("logged:\n%s", text)
	}
}

type panicking struct{}

func (panicking) Write(context.Context, []activity.Event) error { panic("ouch") }

// A Write that takes too long is ended.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := closing(t, activity.New(nil, newGate()))
		l.Record(t.Context(), numbered(0))
		start := time.Now()
		assert.Is(t, l.Flush(t.Context()), context.DeadlineExceeded, "after")
		assert.Equal(t, time.Since(start), 30*time.Second, "after")
	})
}

// Close writes what is there, and gives up with its context.
func TestClose(t *testing.T) {
	g := newGate()
	close(g.open)
	l := activity.New(nil, g)
	for i := range 1000 {
		l.Record(t.Context(), numbered(i))
	}
	assert.OK(t, l.Close(t.Context()))
	assert.Equal(t, len(g.got()), 1000)
	l.Record(t.Context(), numbered(0))
	assert.OK(t, l.Close(t.Context()), "afterwards")
	assert.OK(t, l.Flush(t.Context()), "afterwards")

	l = activity.New(nil, newGate())
	l.Record(t.Context(), numbered(0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := l.Close(ctx)
	assert.Is(t, err, context.Canceled, "Close")
	assert.Contains(t, fmt.Sprint(err), "activity: not all events are written", "Close")
	if err := l.Close(t.Context()); err != nil { // its goroutine has ended
		t.Error(err)
	}
}

// A sink that heeds nothing holds up Close no longer than its context.
func TestCloseOfADeafSink(t *testing.T) {
	g := newGate()
	g.stubborn = true
	l := activity.New(nil, g)
	l.Record(t.Context(), numbered(0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, l.Close(ctx), context.Canceled, "Close")
	close(g.open)
	assert.OK(t, l.Close(t.Context()))
}

// Many record at once: each event is written or counted.
func TestNothingIsLostUncounted(t *testing.T) {
	g := newGate()
	l := activity.New(nil, g)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				l.Record(t.Context(), numbered(i))
			}
		})
	}
	wg.Wait()
	close(g.open)
	assert.OK(t, l.Close(t.Context()))
	written, missing := 0, 0
	for _, e := range g.got() {
		if e.Kind == "dropped" {
			n, _ := strconv.Atoi(e.Detail["events"])
			missing += n
			continue
		}
		written++
	}
	assert.Equal(t, written+missing, 8000)
	assert.True(t, written >= 4096, "%d written", written)
}

func TestNilLog(t *testing.T) {
	var l *activity.Log
	l.Record(t.Context(), numbered(0))
	assert.OK(t, l.Flush(t.Context()), "a nil log does something")
	assert.OK(t, l.Close(t.Context()), "a nil log does something")
}

// What a call pays for being recorded, with arguments of about 100 bytes.
func BenchmarkRecord(b *testing.B) {
	l := activity.New(nil, activity.NewMemory(0))
	defer l.Close(context.Background())
	e := activity.Event{
		Kind: "call", Server: "github", Tool: "create_issue", Outcome: "ok",
		Arguments: []byte(`{"owner":"somebody","repository":"something","title":"It does not work","labels":["bug","new"]}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Record(b.Context(), e)
	}
}

func BenchmarkFileWrite(b *testing.B) {
	f := assert.Value(activity.OpenFile(b.TempDir() + "/a.jsonl"))(b)
	batch := make([]activity.Event, 64)
	for i := range batch {
		batch[i] = numbered(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, f.Write(b.Context(), batch))
	}
}
