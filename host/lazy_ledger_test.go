package host_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A lazy server of which a tool waits for approval, or is refused by the gate, is not
// started again to learn what is known.
func TestLazyServerWithToolsThatWait(t *testing.T) {
	offered := []*sdk.Tool{{Name: "a", InputSchema: map[string]any{"type": "object"}}}
	var starts atomic.Int32
	dir := t.TempDir()
	opts := &host.Options{
		StateDir: filepath.Join(dir, "state"),
		Ledger:   filepath.Join(dir, "mcp.lock.json"),
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
				starts.Add(1)
				s := sdk.NewServer(&sdk.Implementation{Name: "s"}, nil)
				for _, tool := range offered {
					s.AddTool(tool, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
						return &sdk.CallToolResult{}, nil
					})
				}
				return s.Run(ctx, tr)
			}}, nil
		},
	}
	path := write(t, "s", `{"command": "x", "lazy": true}`)
	first := open(t, path, opts)
	until(t, first, "s", "listed", func(s host.Status) bool { return s.Stage == host.StageReady })
	offered = append(offered,
		&sdk.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}},
		&sdk.Tool{Name: "bad", InputSchema: map[string]any{"type": "object", "$ref": "https://example.com/schema"}})
	assert.OK(t, first.Refresh(watchdog(t)))
	assert.OK(t, first.Close())
	before := starts.Load()
	h := open(t, path, opts)
	if s := status(t, h, "s"); s.Stage != host.StageCached || s.Tools != 1 || s.Quarantined != 1 || len(s.Rejected) != 1 {
		t.Errorf("%s with %d tools, %d held back, rejected %v", s.Stage, s.Tools, s.Quarantined, s.Rejected)
	}
	if n := starts.Load(); n != before {
		t.Errorf("started %d times to learn what is known", n-before)
	}
}
