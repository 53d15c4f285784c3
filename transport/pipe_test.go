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
	broken := errors.New("no database")
	l := dial(t, &transport.Pipe{Serve: func(context.Context, mcp.Transport) error { return broken }})
	if _, err := l.Read(bounded(t)); !errors.Is(err, broken) {
		t.Errorf("Read: got %v, want %v", err, broken)
	}
	_, err := ask(t, l)
	if !errors.Is(err, broken) {
		t.Errorf("Call: got %v, want %v", err, broken)
	}
	wantOutcome(t, err, mcp.NotSent)
}

// Serve takes the request and returns: nobody knows what it did.
func TestPipeServeReturnsDuringACall(t *testing.T) {
	broken := errors.New("no database")
	l := dial(t, &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
		conn, err := tr.Connect(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Read(ctx); err != nil {
			return err
		}
		return broken
	}})
	_, err := ask(t, l)
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	wantOutcome(t, err, mcp.Unknown)
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
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
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
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		assert.Equal(t, time.Since(begin), 24*time.Hour, "a Close of")
	})
}

// A server that never reads: the call keeps its deadline, to the nanosecond.
func TestPipeCallKeepsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport.Pipe{Serve: func(ctx context.Context, _ mcp.Transport) error { <-ctx.Done(); return nil }}
		conn, err := tr.Connect(t.Context())
		assert.OK(t, err)
		defer func() { _ = conn.Close() }()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		begin := time.Now()
		_, err = conn.(mcp.Caller).Call(ctx, "tools/list", nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		wantOutcome(t, err, mcp.NotSent)
	})
}

func TestPipeOptions(t *testing.T) {
	_, err := (&transport.Pipe{}).Connect(t.Context())
	var option *transport.OptionError
	if !errors.As(err, &option) || option.Field != "Pipe.Serve" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&transport.Pipe{Serve: servePipe}).Connect(ctx)
	wantOutcome(t, err, mcp.NotSent)
}
