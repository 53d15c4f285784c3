package activity_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerPath); path != "" {
		writeForever(path)
	}
	goleak.VerifyTestMain(m)
}

// A gate is a sink that writes when it is let.
type gate struct {
	open     chan struct{} // each Write takes a value, or it is closed
	enter    chan struct{} // if not nil, gets a value when a Write begins
	stubborn bool          // does not heed its context
	mu       sync.Mutex
	fail     error
	events   []activity.Event
	writes   int
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) Write(ctx context.Context, events []activity.Event) error {
	if g.enter != nil {
		g.enter <- struct{}{}
	}
	done := ctx.Done()
	if g.stubborn {
		done = nil
	}
	select {
	case <-g.open:
	case <-done:
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes++
	if g.fail != nil {
		return g.fail
	}
	g.events = append(g.events, events...)
	return nil
}

func (g *gate) failWith(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = err
}

func (g *gate) got() []activity.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.events
}

// closing closes a log at the end of a test.
func closing(t *testing.T, l *activity.Log) *activity.Log {
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func mustFlush(t *testing.T, l *activity.Log) {
	t.Helper()
	assert.OK(t, l.Flush(t.Context()), "Flush")
}

// one records an event and returns what a sink gets of it.
func one(t *testing.T, ctx context.Context, o *activity.Options, e activity.Event) activity.Event {
	t.Helper()
	m := activity.NewMemory(0)
	l := closing(t, activity.New(o, m))
	l.Record(ctx, e)
	mustFlush(t, l)
	got := m.Recent(nil, 0)
	if len(got) != 1 {
		t.Fatalf("%d events, want one", len(got))
	}
	return got[0]
}
