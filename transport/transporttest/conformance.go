package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// tooLong bounds every wait of a check. It only decides how long a broken
// transport takes to fail.
const tooLong = 2 * time.Minute

// A Recipe is a transport under test.
type Recipe struct {
	// Transport reaches a server made by [NewServer], again with each Connect.
	Transport mcp.Transport
	// MaxMessage is the largest message in bytes that the transport is
	// configured to accept. Zero skips the check of that limit.
	MaxMessage int
	// ProgressApart says that progress takes another way than the answer, so that
	// some of it may come too late.
	ProgressApart bool
	// Once says that the transport connects only once, as those of the official
	// SDK do. It skips the checks of a second connection.
	Once bool
}

// TestTransport checks, in subtests, that a transport keeps the promises of
// mcp.Transport, mcp.Conn and, if its connections are such, mcp.Caller. It calls
// newRecipe at the beginning of each subtest.
func TestTransport(t *testing.T, newRecipe func(t *testing.T) Recipe) {
	for _, check := range []struct {
		name string
		run  func(*testing.T, Recipe)
	}{
		{"connects again", checkConnectsAgain},
		{"outlives the context of Connect", checkConnectContext},
		{"Close ends Read", checkCloseEndsRead},
		{"Close may be repeated", checkCloseRepeated},
		{"Read ends with its context", checkReadContext},
		{"a call ends with its context", checkCallContext},
		{"Write ends with its context", checkWriteContext},
		{"concurrent calls", checkConcurrentCalls},
		{"progress", checkProgress},
		{"the server's error", checkServerError},
		{"Close ends calls", checkCloseEndsCalls},
		{"message limit", checkMessageLimit},
	} {
		t.Run(check.name, func(t *testing.T) {
			r := newRecipe(t)
			checkLeaks(t)
			check.run(t, r)
		})
	}
}

func checkConnectsAgain(t *testing.T, r Recipe) {
	if r.Once {
		t.Skip("connects once")
	}
	first := connect(t, r.Transport)
	first.mustEcho(t, "first")
	second := connect(t, r.Transport)
	second.mustEcho(t, "second")
	if err := first.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	second.mustEcho(t, "second, after the first was closed")
	// connect ends the test on failure, so it must stay on this goroutine;
	// what runs at the same time is Connect.
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), tooLong)
			defer stop()
			conn, err := r.Transport.Connect(ctx)
			if err != nil {
				t.Errorf("Connect: %v", err)
			} else if err := conn.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	connect(t, r.Transport).mustEcho(t, "last")
}

func checkConnectContext(t *testing.T, r Recipe) {
	// connect ends the context of Connect before it returns.
	connect(t, r.Transport).mustEcho(t, "alive")
}

func checkCloseEndsRead(t *testing.T, r Recipe) {
	conn, err := r.Transport.Connect(t.Context())
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(context.Background())
		read <- err
	}()
	if err := conn.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	select {
	case err := <-read:
		if err == nil {
			t.Error("Read during Close returns no error")
		}
	case <-time.After(tooLong):
		t.Fatal("Read does not return after Close")
	}
	if _, err := conn.Read(t.Context()); err == nil {
		t.Error("Read after Close returns no error")
	}
}

func checkCloseRepeated(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Errorf("Close after Close: %v", err)
	}
}

func checkReadContext(t *testing.T, r Recipe) {
	if r.Once {
		t.Skip("the SDK's connections may end with a Read")
	}
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := r.Transport.Connect(t.Context())
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	defer func() { _ = conn.Close() }()
	cancel()
	if _, err := conn.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: got %v, want %v", err, context.Canceled)
	}
}

func checkCallContext(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	ctx, cancelCall := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() {
		_, err := p.call(ctx, "wait", struct{}{}, nil)
		returned <- err
	}()
	p.awaitWaiting(t, "1")
	cancelCall()
	var err error
	select {
	case err = <-returned:
	case <-time.After(tooLong):
		t.Fatal("a call does not return when its context ends")
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if o := mcp.OutcomeOf(err); o == mcp.Answered {
		t.Errorf("the outcome of a call without an answer is %v", o)
	}
	p.mustEcho(t, "the connection is none the worse")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.call(ended, "echo", map[string]string{"text": "x"}, nil)
	if !errors.Is(err, context.Canceled) || mcp.OutcomeOf(err) != mcp.NotSent {
		t.Errorf("with an ended context: got %v with outcome %v, want %v", err, mcp.OutcomeOf(err), mcp.NotSent)
	}
	p.mustEcho(t, "nor now")
}

func checkWriteContext(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_ = p.Write(ctx, &jsonrpc.Request{Method: "notifications/roots/list_changed", Params: json.RawMessage(`{}`)})
	}()
	select {
	case <-returned:
	case <-time.After(tooLong):
		t.Error("Write with an ended context does not return")
	}
}

func checkConcurrentCalls(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := range 8 {
				p.mustEcho(t, fmt.Sprintf("worker %d, call %d", worker, i))
			}
		})
	}
	wg.Wait()
}

func checkProgress(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	const n = 20
	seen := 0
	opts := &mcp.CallOptions{ProgressToken: 7, Progress: func(params json.RawMessage) {
		var note struct {
			Progress float64 `json:"progress"`
		}
		if err := json.Unmarshal(params, &note); err != nil || note.Progress != float64(seen) {
			t.Errorf("notification %d: %s, %v", seen, params, err)
		}
		seen++
	}}
	if _, err := p.call(ctx, "count", map[string]int{"n": n}, opts); err != nil {
		t.Fatal(err)
	}
	if seen != n && !r.ProgressApart {
		t.Errorf("%d of %d notifications came before the answer", seen, n)
	}
}

func checkServerError(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	_, err := p.call(ctx, "no such tool", struct{}{}, nil)
	var answer *mcp.JSONRPCError
	if !errors.As(err, &answer) || answer.Message == "" {
		t.Errorf("got %v, want the server's error", err)
	}
	if o := mcp.OutcomeOf(err); o != mcp.Answered {
		t.Errorf("outcome %v, want %v", o, mcp.Answered)
	}
}

func checkCloseEndsCalls(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	returned := make(chan struct{}, 4)
	for range cap(returned) {
		go func() {
			_, _ = p.call(t.Context(), "wait", struct{}{}, nil)
			returned <- struct{}{}
		}()
	}
	p.awaitWaiting(t, "4")
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for range cap(returned) {
		select {
		case <-returned:
		case <-time.After(tooLong):
			t.Fatal("a call does not return after Close")
		}
	}
	if _, err := p.Call(t.Context(), "tools/list", json.RawMessage(`{}`), nil); !mcp.SafeToRetry(err) {
		t.Errorf("a call after Close: got %v with outcome %v, want an error and %v", err, mcp.OutcomeOf(err), mcp.NotSent)
	}
}

func checkMessageLimit(t *testing.T, r Recipe) {
	if r.MaxMessage == 0 {
		t.Skip("no limit")
	}
	p := connect(t, r.Transport)
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	const envelope = 512 // the rest of the message
	got, err := p.call(ctx, "big", map[string]int{"size": r.MaxMessage - envelope}, nil)
	if err != nil || len(got) != r.MaxMessage-envelope {
		t.Errorf("an answer within the limit: %d bytes, %v", len(got), err)
	}
	_, err = p.call(ctx, "big", map[string]int{"size": r.MaxMessage + 1}, nil)
	var limit *mcp.LimitError
	if !errors.As(err, &limit) || limit.Max != int64(r.MaxMessage) {
		t.Errorf("an answer above the limit: got %v, want a LimitError of %d", err, r.MaxMessage)
	}
	if mcp.SafeToRetry(err) {
		t.Error("a request that was answered must not be safe to retry")
	}
}
