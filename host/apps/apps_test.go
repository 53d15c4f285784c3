package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// Servers are told that the program shows apps, and options that cannot work are refused.
func TestNew(t *testing.T) {
	k := newKit(t, nil, nil, nil)
	k.server.AddTool(&sdk.Tool{Name: "caps", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(r.ClientCapabilities().Extensions)}}}, nil
	})
	hosttest.Eventually(t, "the tool is known", func() bool { _, ok := k.registry.Snapshot().Lookup("clock__caps"); return ok })
	res := assert.Value(k.registry.Call(k.ctx, "clock__caps", nil))(t)
	assert.Equal(t, res.Text(), "map[io.modelcontextprotocol/ui:map[mimeTypes:[text/html;profile=mcp-app]]]", "what the server is told")
	h := hosttest.Open(t, hosttest.Write(t), nil)
	for _, o := range []*apps.Options{nil, {SandboxURL: "/frames"}, {SandboxURL: "https://user@a.example"}, {SandboxURL: "https://a.example?x"}, {SandboxURL: "https://a.example", Permissions: []string{"usb"}}} {
		_, err := apps.New(h, o)
		assert.Fails(t, err, "apps of %+v", o)
	}
}
