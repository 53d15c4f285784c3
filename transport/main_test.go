package transport_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

func TestMain(m *testing.M) {
	transporttest.RunChild()
	runHost()
	// Parallel tests wait for processes, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// watchdog bounds waits that a correct package never has.
const watchdog = 30 * time.Second

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), watchdog)
	t.Cleanup(stop)
	return ctx
}

func dial(t *testing.T, tr mcp.Transport) mcp.Caller {
	t.Helper()
	conn, err := tr.Connect(bounded(t))
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l, ok := conn.(mcp.Caller)
	if !ok {
		t.Fatalf("got a %T, want a Caller", conn)
	}
	return l
}

// ask sends one request without parameters and returns its result.
func ask(t *testing.T, l mcp.Caller) (string, error) {
	t.Helper()
	raw, err := l.Call(bounded(t), "tools/list", nil, nil)
	return string(raw), err
}

func wantOutcome(t *testing.T, err error, want mcp.Outcome) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with outcome %v", want)
	}
	if got := mcp.OutcomeOf(err); got != want {
		t.Errorf("outcome %v, want %v: %v", got, want, err)
	}
}

// closeWithin fails the test if Close hangs.
func closeWithin(t *testing.T, l mcp.Caller) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("Close: %v", err)
		}
	case <-time.After(watchdog):
		t.Fatal("Close hangs")
	}
}
