package transporttest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		{"outlives the context of Connect", func(t *testing.T, r Recipe) {
			connect(t, r.Transport).mustEcho(t, "alive") // which has ended that context
		}},
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

// within returns what a channel brings, and ends the test if nothing comes.
func within(t *testing.T, c <-chan error, what string) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(tooLong):
		t.Fatalf("waited in vain: %s", what)
		return nil
	}
}

func checkConnectsAgain(t *testing.T, r Recipe) {
	first := connect(t, r.Transport)
	first.mustEcho(t, "first")
	second := connect(t, r.Transport)
	second.mustEcho(t, "second")
	assert.OK(t, first.Close(), "Close")
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

func checkCloseEndsRead(t *testing.T, r Recipe) {
	conn, err := r.Transport.Connect(t.Context())
	assert.OK(t, err, "Connect")
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(context.Background())
		read <- err
	}()
	assert.OK(t, conn.Close(), "Close")
	assert.Fails(t, within(t, read, "Read returns after Close"), "Read during Close")
	_, err = conn.Read(t.Context())
	assert.Fails(t, err, "Read after Close")
}

func checkCloseRepeated(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.Is(t, p.Close(), nil, "Close") })
	}
	wg.Wait()
	assert.OK(t, p.Close(), "Close after Close")
}

func checkReadContext(t *testing.T, r Recipe) {
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := r.Transport.Connect(t.Context())
	assert.OK(t, err, "Connect")
	defer func() { _ = conn.Close() }()
	cancel()
	_, err = conn.Read(ctx)
	assert.Is(t, err, context.Canceled, "Read")
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
	err := within(t, returned, "a call returns when its context ends")
	assert.Is(t, err, context.Canceled)
	assert.True(t, mcp.OutcomeOf(err) != mcp.Answered, "the outcome is that of a call without an answer")
	p.mustEcho(t, "the connection is none the worse")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.call(ended, "echo", map[string]string{"text": "x"}, nil)
	assert.Is(t, err, context.Canceled, "with an ended context")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "with an ended context: outcome")
	p.mustEcho(t, "nor now")
}

func checkWriteContext(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	returned := make(chan error, 1)
	go func() {
		returned <- p.Write(ctx, &jsonrpc.Request{Method: "notifications/roots/list_changed", Params: json.RawMessage(`{}`)})
	}()
	_ = within(t, returned, "Write with an ended context returns")
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
	_, err := p.call(ctx, "count", map[string]int{"n": n}, opts)
	assert.OK(t, err)
	assert.True(t, seen == n || r.ProgressApart, "%d of %d notifications came before the answer: all", seen, n)
}

func checkServerError(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	_, err := p.call(ctx, "no such tool", struct{}{}, nil)
	assert.True(t, assert.As[*mcp.JSONRPCError](t, err, "the server's error").Message != "", "it has a message")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.Answered, "outcome")
}

func checkCloseEndsCalls(t *testing.T, r Recipe) {
	p := connect(t, r.Transport)
	returned := make(chan error, 4)
	for range cap(returned) {
		go func() {
			_, err := p.call(t.Context(), "wait", struct{}{}, nil)
			returned <- err
		}()
	}
	p.awaitWaiting(t, "4")
	assert.OK(t, p.Close(), "Close")
	for range cap(returned) {
		_ = within(t, returned, "a call returns after Close")
	}
	_, err := p.Call(t.Context(), "tools/list", json.RawMessage(`{}`), nil)
	assert.True(t, mcp.SafeToRetry(err), "a call after Close, with %v, is not sent", err)
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
	assert.OK(t, err, "an answer within the limit")
	assert.Equal(t, len(got), r.MaxMessage-envelope, "its bytes")
	_, err = p.call(ctx, "big", map[string]int{"size": r.MaxMessage + 1}, nil)
	assert.Equal(t, assert.As[*mcp.LimitError](t, err, "an answer above the limit").Max, int64(r.MaxMessage), "limit")
	assert.False(t, mcp.SafeToRetry(err), "a request that was answered is safe to retry")
}
