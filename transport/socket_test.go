package transport_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

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
				return nil, nil, nil
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
	ctx := bounded(t)
	client := newClient(t, &transport.Socket{Path: path}, mcp.ClientOptions{})
	assert.Equal(t, len(assert.Value(client.Tools(ctx))(t)), 1, "tools")
	drop()
	if _, err := client.CallTool(ctx, "ping", nil, nil); err != nil {
		assert.Value(client.CallTool(ctx, "ping", nil, nil))(t) // on a new connection
	}
}

func TestSocketThatIsNotThere(t *testing.T) {
	_, err := (&transport.Socket{Path: filepath.Join(t.TempDir(), "none.sock")}).Connect(t.Context())
	assert.Is(t, err, os.ErrNotExist)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome")
	assert.As[*transport.OptionError](t, assert.Err((&transport.Socket{Path: "s.sock"}).Connect(t.Context())), "a relative path")
}
