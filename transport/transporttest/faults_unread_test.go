//go:build unix

package transporttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A call returns when its context ends, also while the server fills its stream
// with messages that the session does not read.
func TestCallAmidUnreadMessages(t *testing.T) {
	for _, w := range everyWire() {
		t.Run(string(w), func(t *testing.T) {
			for allowed := callTime; !callAmidStorm(t, w, allowed); allowed *= 2 {
				if allowed > healTime {
					t.Fatal("no call comes to the server")
				}
			}
		})
	}
}

// callAmidStorm makes such a call with a deadline. It reports whether the call came to
// the server: on a machine that stalls it may end before.
func callAmidStorm(t *testing.T, w wire, allowed time.Duration) bool {
	dir := t.TempDir()
	c := &cell{row: &row{}, wire: w, dir: dir, plan: plan{
		Deed: "storm", Hit: 1, Again: true, Stream: true, Era: mcp.Revision20251125, Ledger: filepath.Join(dir, "ledger"),
	}}
	world := assert.Value(newWorld(c))(t)
	defer world.close()
	conn := assert.Value(world.transport.Connect(t.Context()))(t)
	defer func() { _ = conn.Close() }()
	ctx, stop := context.WithTimeout(t.Context(), allowed)
	defer stop()
	returned := make(chan error, 1)
	go func() {
		_, err := conn.(mcp.Caller).Call(ctx, "tools/call", json.RawMessage(`{"name":"do","arguments":{"nonce":"n1"}}`), nil)
		returned <- err
	}()
	select {
	case err := <-returned:
		arrived := c.hit()
		if !errors.Is(err, context.DeadlineExceeded) || arrived && mcp.OutcomeOf(err) != mcp.Unknown {
			t.Errorf("error %v with outcome %v", err, mcp.OutcomeOf(err))
		}
		return arrived
	case <-time.After(30 * time.Second):
		t.Fatal("the call does not return")
		return false
	}
}
