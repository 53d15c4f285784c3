package host_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// IronClaw's entry of a server behind a Unix socket runs, and one that is not there says so.
func TestServerBehindASocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "mcp") // t.TempDir may be too long for a socket
	assert.OK(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "s.sock")
	listener := assert.Value(net.Listen("unix", path))(t)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server := sdk.NewServer(&sdk.Implementation{Name: "socket"}, nil)
			sdk.AddTool(server, &sdk.Tool{Name: "ping"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "pong"}}}, nil, nil
			})
			session, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: conn, Writer: conn}, nil)
			if err != nil {
				return
			}
			defer func() { _ = session.Close() }()
		}
	}()
	defer func() { _ = listener.Close(); <-served }()
	c := assert.Value(config.Parse(t.Context(), "mcp-servers.json", []byte(`{"schema_version":1,"servers":[
		{"name":"there","url":"","transport":{"transport":"unix","socket_path":"`+path+`"}},
		{"name":"absent","transport":{"transport":"unix","socket_path":"`+path+`.none"},"url":""}]}`), nil))(t)
	h := host.New(&host.Options{StateDir: host.NoState})
	defer func() { _ = h.Close() }()
	assert.Value(h.Apply(watchdog(t), c))(t)
	until(t, h, "there", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	if _, err := h.Registry().Call(watchdog(t), "there__ping", nil); err != nil {
		t.Errorf("got %v, want an answer", err)
	}
	for _, s := range c.Servers {
		report := assert.Value(doctor.Test(watchdog(t), h, s, nil))(t)
		assert.Equal(t, report.Err == nil, s.Name == "there", "%s: the test ok (%v)", s.Name, report.Err)
		refused := slices.ContainsFunc(report.Hints, func(hint doctor.Hint) bool { return hint.Code == doctor.HintConnectionRefused })
		assert.Equal(t, refused, s.Name == "absent", "%s: the hint %s", s.Name, doctor.HintConnectionRefused)
	}
}
