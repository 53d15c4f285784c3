//go:build unix

package transporttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A call returns when its context ends, also while the server fills its stream
// with messages that the session does not read.
func TestCallAmidUnreadMessages(t *testing.T) {
	for _, w := range everyWire() {
		t.Run(string(w), func(t *testing.T) {
			dir := t.TempDir()
			c := &cell{row: &row{}, wire: w, dir: dir, plan: plan{
				Deed: "storm", Hit: 1, Again: true, Stream: true, Era: mcp.Revision20251125, Ledger: filepath.Join(dir, "ledger"),
			}}
			world, err := newWorld(c)
			if err != nil {
				t.Fatal(err)
			}
			defer world.close()
			conn, err := world.transport.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			ctx, stop := context.WithTimeout(t.Context(), callTime)
			defer stop()
			returned := make(chan error, 1)
			go func() {
				_, err := conn.(mcp.Caller).Call(ctx, "tools/call", json.RawMessage(`{"name":"do","arguments":{"nonce":"n1"}}`), nil)
				returned <- err
			}()
			select {
			case err := <-returned:
				if !errors.Is(err, context.DeadlineExceeded) || mcp.OutcomeOf(err) != mcp.Unknown {
					t.Errorf("error %v with outcome %v", err, mcp.OutcomeOf(err))
				}
			case <-time.After(30 * time.Second):
				t.Error("the call does not return")
			}
		})
	}
}
