package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

func large(n int) json.RawMessage {
	return json.RawMessage(`{"x":"` + strings.Repeat("x", n) + `"}`)
}

// A call keeps its deadline although the server never reads its stdin. The cut
// frame ends the connection, and the next one works.
func TestCommandServerNeverReads(t *testing.T) {
	recipe := transporttest.Child("hang")
	recipe.CloseTimeout = 20 * time.Millisecond
	l := dial(t, recipe)
	// A frame of which nothing was written, as on a busy machine, leaves the
	// connection as it is.
	for allowed := 100 * time.Millisecond; ; allowed *= 2 {
		if allowed > watchdog {
			t.Fatal("a connection with a cut frame lives")
		}
		ctx, stop := context.WithTimeout(t.Context(), allowed)
		_, err := l.Call(ctx, "tools/call", large(1<<20), nil)
		stop()
		wantOutcome(t, err, mcp.NotSent)
		if !errors.Is(err, context.DeadlineExceeded) {
			break // the connection has ended
		}
	}
	_, err := ask(t, l)
	wantOutcome(t, err, mcp.NotSent)

	recipe.Args = []string{"serve"}
	if _, err := dial(t, recipe).Call(bounded(t), "tools/call", large(1<<20), nil); err != nil {
		t.Errorf("the next life: %v", err)
	}
}

// While a frame cannot be written, other calls keep their deadlines too.
func TestCommandCallsWaitForTheWriter(t *testing.T) {
	recipe := transporttest.Child("hang")
	recipe.CloseTimeout = 20 * time.Millisecond
	l := dial(t, recipe)
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { _, _ = l.Call(ctx, "tools/call", large(1<<20), nil) })
	for range 3 {
		short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := l.Call(short, "tools/list", nil, nil)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	writer.Wait() // Close ended it: ctx has not
	cancel()
}

func TestCommandStderrFlood(t *testing.T) {
	l := dial(t, transporttest.Child("flood:1000000", "serve"))
	if _, err := ask(t, l); err != nil {
		t.Error(err)
	}
}

// A caller that gives up tells the server, and a late answer disturbs nobody.
func TestCommandCancellation(t *testing.T) {
	recipe := transporttest.Child("read", "ready", "read", "ready", "say:"+answer, "serve")
	ready := make(chan struct{}, 8)
	recipe.Stderr = func(string) { ready <- struct{}{} }
	l := dial(t, recipe)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := l.Call(ctx, "tools/call", nil, nil)
		failed <- err
	}()
	<-ready // the request was read
	cancel()
	err := <-failed
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantOutcome(t, err, mcp.Unknown)
	select {
	case <-ready: // the cancellation was read
	case <-bounded(t).Done():
		t.Fatal("no cancellation came")
	}
	if got, err := ask(t, l); err != nil || got != "{}" {
		t.Errorf("the next call: %s, %v", got, err)
	}
}

// Large frames of many callers and both planes do not mix.
func TestCommandFramesDoNotMix(t *testing.T) {
	l := dial(t, transporttest.Child("serve"))
	var wg sync.WaitGroup
	for i := range 8 {
		params := json.RawMessage(`"` + strings.Repeat(string(rune('a'+i)), 100_000) + `"`)
		wg.Go(func() {
			for range 5 {
				got, err := l.Call(bounded(t), "tools/call", params, nil)
				if err != nil || !bytes.Equal(got, params) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			}
		})
	}
	id, _ := jsonrpc.MakeID(float64(1))
	if err := l.Write(bounded(t), &jsonrpc.Request{ID: id, Method: "ping"}); err != nil {
		t.Error(err)
	}
	m, err := l.Read(bounded(t))
	if resp, ok := m.(*jsonrpc.Response); err != nil || !ok || resp.ID != id {
		t.Errorf("Read: %v, %v", m, err)
	}
	wg.Wait()
}
