//go:build unix

package transporttest_test

import (
	"context"
	"encoding/json"
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
			t.Parallel()
			dir := t.TempDir()
			c := &cell{row: &row{}, wire: w, dir: dir, plan: plan{
				Deed: "storm", Hit: 1, Again: true, Stream: true, Era: mcp.Revision20251125, Ledger: filepath.Join(dir, "ledger"),
			}}
			world := assert.Value(newWorld(c))(t)
			defer world.close()
			conn := assert.Value(world.transport.Connect(t.Context()))(t)
			defer func() { _ = conn.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), tooLong)
			defer cancel()
			go func() {
				for !c.hit() && ctx.Err() == nil {
					<-time.After(time.Millisecond)
				}
				cancel()
			}()
			_, err := conn.(mcp.Caller).Call(ctx, "tools/call", json.RawMessage(`{"name":"do","arguments":{"nonce":"n1"}}`), nil)
			assert.Is(t, err, context.Canceled)
			assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown, "outcome")
		})
	}
}
