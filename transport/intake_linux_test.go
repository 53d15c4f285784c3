// Tests of intake.go and read_unix.go over pipes: which goroutine reads.

package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// answers answers a request.
func (f *farEnd) answers(t *testing.T, id int64) {
	t.Helper()
	f.say(t, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", id)
}

// say writes lines to the stream.
func (f *farEnd) say(t *testing.T, format string, args ...any) {
	t.Helper()
	assert.Value(fmt.Fprintf(f.out, format, args...))(t)
}

// untilPaused returns when the goroutine leaves the reading to others.
func (f *farEnd) untilPaused(t *testing.T) {
	t.Helper()
	poll(t, "the goroutine leaves the reading to others", func() bool { return len(f.intake.turn) == 0 })
}

// lead makes one call whose answer the goroutine reads, and then begins another,
// which reads for itself. It returns the id of that.
func (f *farEnd) lead(ctx context.Context, t *testing.T, progress func(json.RawMessage)) (id int64, failed <-chan error) {
	t.Helper()
	f.untilReading(t)
	f.intake.lull = time.Hour
	first := f.send(t.Context(), "first", 0)
	f.name(t)
	f.answers(t, inflight.FirstID)
	f.untilPaused(t)
	assert.OK(t, <-first)
	f.intake.served.Store(0)
	done := make(chan error, 1)
	go func() {
		_, err := f.Call(ctx, "tools/call", json.RawMessage(`{"name":"second"}`), &mcp.CallOptions{ProgressToken: 7, Progress: progress})
		done <- err
	}()
	f.name(t)
	f.untilReading(t)
	return inflight.FirstID + 1, done
}

// A caller that reads for itself hands on what is not its own.
func TestIntakeLoneCaller(t *testing.T) {
	f := overPipes(t)
	id, failed := f.lead(t.Context(), t, nil)
	f.say(t, "noise\n"+`{"jsonrpc":"2.0","method":"notifications/one"}`+"\n")
	f.answers(t, id)
	assert.OK(t, <-failed)
	assert.Equal(t, f.intake.served.Load(), 1, "answers that callers have read for themselves")
	f.reads(t, "notifications/one")
}

// What comes when nobody calls is read as well.
func TestIntakePauseEnds(t *testing.T) {
	f := overPipes(t)
	for i := range int64(20) {
		answered := f.send(t.Context(), "x", 0)
		f.name(t)
		f.answers(t, inflight.FirstID+i)
		assert.OK(t, <-answered)
		f.say(t, `{"jsonrpc":"2.0","method":"notifications/two"}`+"\n")
		f.reads(t, "notifications/two")
	}
}

// reads waits for the next message that belongs to no call, and fails the test if it is
// another.
func (f *farEnd) reads(t *testing.T, method string) {
	t.Helper()
	select {
	case m := <-f.heard:
		if req, ok := m.(*jsonrpc.Request); !ok || !strings.HasSuffix(req.Method, method) {
			t.Fatalf("got %.60v, want %s", m, method)
		}
	case <-time.After(tooLong):
		t.Fatalf("got no message, want %s", method)
	}
}

// A hookContext is hooked, as the contexts of a client's calls are.
type hookContext struct {
	context.Context
	unhook func() bool
}

func (h *hookContext) Hook(f func()) context.Context {
	h.unhook = context.AfterFunc(h.Context, f)
	return context.Background()
}

func (h *hookContext) Unhook() { h.unhook() }

// What an ended process has left behind is read until its time is over, whoever
// is interrupted meanwhile.
func TestIntakeDrains(t *testing.T) {
	f := overPipes(t)
	p := f.duplex.(*pipes)
	p.drainUntil(time.Now().Add(time.Millisecond))
	p.InterruptRead()
	f.wait()
}

// A caller that reads leaves when its context ends, in the middle of a line as
// well, and the next one reads on behind it.
func TestIntakeCallerLeaves(t *testing.T) {
	for i, begun := range []string{"", `{"jsonrpc":"2.0","method":"notif`, `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 2*lineRoom), ""} {
		f := overPipes(t)
		ctx, leave := context.WithCancel(t.Context())
		caller := ctx
		if i == 3 {
			caller = &hookContext{Context: ctx}
		}
		_, failed := f.lead(caller, t, nil)
		f.say(t, "%s", begun)
		leave()
		wantError(t, <-failed, context.Canceled, mcp.Unknown)
		rest := `{"jsonrpc":"2.0","method":"notifications/late"}` + "\n"
		if begun != "" {
			rest = `ications/late"}` + "\n"
		}
		f.say(t, "%s", rest)
		f.reads(t, "ications/late")
		third := f.send(t.Context(), "third", 0)
		f.name(t)
		f.answers(t, inflight.FirstID+2)
		assert.OK(t, <-third)
	}
}

// A caller that is slow to take its progress does not hold up others.
func TestIntakeSlowProgress(t *testing.T) {
	f := overPipes(t)
	told, release := make(chan struct{}), make(chan struct{})
	id, failed := f.lead(t.Context(), t, func(json.RawMessage) {
		close(told)
		<-release
	})
	f.say(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`+"\n")
	<-told
	other := f.send(t.Context(), "other", 0)
	f.name(t)
	f.answers(t, id+1)
	assert.OK(t, <-other)
	f.answers(t, id)
	close(release)
	assert.OK(t, <-failed)
}

// Those that join a caller that reads get their answers from it, and from the
// goroutine when it has its own.
func TestIntakeOthersJoin(t *testing.T) {
	f := overPipes(t)
	id, failed := f.lead(t.Context(), t, nil)
	before, after := f.send(t.Context(), "before", 0), f.send(t.Context(), "after", 0)
	names := map[string]int64{}
	for i := range int64(2) {
		names[f.name(t)] = id + 1 + i
	}
	f.answers(t, names["before"])
	f.answers(t, id)
	f.answers(t, names["after"])
	for what, failed := range map[string]<-chan error{"the reader": failed, "before": before, "after": after} {
		assert.OK(t, <-failed, what)
	}
}

// The end of the output is noticed by whoever reads, and also in a pause.
func TestIntakeEnd(t *testing.T) {
	for cause, end := range map[error]func(f *farEnd){
		io.EOF:       func(f *farEnd) { _ = f.out.Close() },
		os.ErrClosed: func(f *farEnd) { f.fail(os.ErrClosed) },
	} {
		f := overPipes(t)
		_, failed := f.lead(t.Context(), t, nil)
		end(f)
		wantError(t, <-failed, cause, mcp.Unknown)
		f.wait()
	}
}

// Reading goes from hand to hand without a loss.
func TestIntakeByTurns(t *testing.T) {
	f := overPipes(t)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for frames := json.NewDecoder(f.in); ; {
			var frame struct{ ID int64 }
			if frames.Decode(&frame) != nil {
				return
			}
			if frame.ID != 0 {
				_, _ = fmt.Fprintf(f.out, `{"jsonrpc":"2.0","method":"notifications/n"}`+"\n"+`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", frame.ID)
			}
		}
	}()
	for round := 0; round < 100 || f.intake.served.Load() == 0; round++ { // until callers have read, too
		var calls []<-chan error
		for range []int{1, 1, 2, 3}[round%4] { // one alone reads only after another alone
			calls = append(calls, f.send(t.Context(), "x", 10))
		}
		for _, failed := range calls {
			assert.OK(t, <-failed)
		}
		if round%50 == 0 {
			f.untilReading(t)
		}
	}
	_ = f.out.Close()
	f.wait()
	_ = f.duplex.CloseWrite()
	<-served
}

// untilReading returns when the goroutine reads again after a pause.
func (f *farEnd) untilReading(t *testing.T) {
	t.Helper()
	poll(t, "the goroutine reads", func() bool { return len(f.intake.turn) > 0 })
}
