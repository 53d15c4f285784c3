package transport_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// socketServer is a server that listens on a Unix socket. Connections get a server each.
func socketServer(t *testing.T) (path string, drop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcp") // t.TempDir may be too long for a socket
	assert.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "s.sock")
	listener := assert.Value(net.Listen("unix", path))(t)
	ctx, stop := context.WithCancel(context.Background())
	served, conns := make(chan struct{}), make(chan net.Conn, 16)
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns <- conn
			server := sdk.NewServer(&sdk.Implementation{Name: "socket"}, nil)
			sdk.AddTool(server, &sdk.Tool{Name: "ping"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "pong"}}}, nil, nil
			})
			session, err := server.Connect(ctx, &sdk.IOTransport{Reader: conn, Writer: conn}, nil)
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = session.Close() })
		}
	}()
	t.Cleanup(func() { stop(); _ = listener.Close(); <-served })
	return path, func() { _ = (<-conns).Close() }
}

func TestSocket(t *testing.T) {
	path, drop := socketServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := mcp.NewClient("s", &transport.Socket{Path: path}, nil)
	defer func() { _ = client.Close() }()
	tools := assert.Value(client.Tools(ctx))(t)
	assert.Equal(t, len(tools), 1, "tools")
	drop()
	if _, err := client.CallTool(ctx, "ping", nil, nil); err != nil { // on a new connection
		if _, err = client.CallTool(ctx, "ping", nil, nil); err != nil {
			t.Errorf("got %v after the connection ended, want an answer on a new one", err)
		}
	}
}

func TestSocketThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.sock")
	_, err := (&transport.Socket{Path: path}).Connect(t.Context())
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want one that wraps %v", err, os.ErrNotExist)
	}
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
	var wrong *transport.OptionError
	if _, err := (&transport.Socket{Path: "s.sock"}).Connect(t.Context()); !errors.As(err, &wrong) {
		t.Errorf("got %v for a relative path, want an *OptionError", err)
	}
}
