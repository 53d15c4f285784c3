package transport_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestPipeServeReturnsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no database")
		l := dial(t, &transport.Pipe{Serve: func(context.Context, mcp.Transport) error { return broken }})
		assert.Is(t, assert.Err(l.Read(bounded(t))), broken, "Read")
		assert.Is(t, wantFailure(t, l, mcp.NotSent), broken)
	})
}

// Serve takes the request and returns: it may have run.
func TestPipeServeReturnsDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no database")
		l := dial(t, &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
			conn := assert.Value(tr.Connect(ctx))(t)
			defer func() { _ = conn.Close() }()
			assert.Value(conn.Read(ctx))(t)
			return broken
		}})
		assert.Is(t, wantFailure(t, l, mcp.Unknown), broken)
	})
}

// A Serve that ignores everything is left behind after CloseTimeout.
func TestPipeCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		tr := &transport.Pipe{
			Serve:        func(context.Context, mcp.Transport) error { <-release; return nil },
			CloseTimeout: 3 * time.Second,
		}
		conn := assert.Value(tr.Connect(t.Context()))(t)
		begin := time.Now()
		assert.OK(t, conn.Close())
		assert.Equal(t, time.Since(begin), 3*time.Second, "Close took")
		close(release)
	})
}

// Without a limit Close waits for a Serve that takes its time.
func TestPipeCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport.Pipe{
			Serve: func(ctx context.Context, _ mcp.Transport) error {
				<-ctx.Done()
				time.Sleep(24 * time.Hour)
				return nil
			},
			CloseTimeout: -1,
		}
		conn := assert.Value(tr.Connect(t.Context()))(t)
		begin := time.Now()
		assert.OK(t, conn.Close())
		assert.Equal(t, time.Since(begin), 24*time.Hour, "a Close of")
	})
}

// A server that never reads: the call keeps its deadline, but for the pause between two looks at it.
func TestPipeCallKeepsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport.Pipe{Serve: func(ctx context.Context, _ mcp.Transport) error { <-ctx.Done(); return nil }}
		l := dial(t, tr)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		begin := time.Now()
		_, err := l.Call(ctx, "tools/list", nil, nil)
		assert.Is(t, err, context.DeadlineExceeded)
		assert.True(t, time.Since(begin) <= time.Second+20*time.Millisecond, "a call of %v ends in time", time.Since(begin))
		wantOutcome(t, err, mcp.NotSent)
	})
}

func TestPipeOptions(t *testing.T) {
	assert.Contains(t, assert.As[*transport.OptionError](t, assert.Err((&transport.Pipe{}).Connect(t.Context()))).Error(), "Pipe.Serve")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantOutcome(t, assert.Err((&transport.Pipe{Serve: servePipe}).Connect(ctx)), mcp.NotSent)
}
