package transport

import (
	"context"
	"errors"
	"net"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Socket speaks with a server that listens on a Unix domain socket of this machine, one
// JSON message per line, as IronClaw does. Every Connect makes a connection of its own.
// Lines that are not JSON-RPC are treated as by [Command].
type Socket struct {
	// Path is the absolute path of the socket.
	Path string
	// MaxMessage limits a message of the server, in bytes. Default: 16 MiB.
	// Negative: none.
	MaxMessage int64
}

// Connect connects to the socket. ctx bounds the connecting, 10 s at most.
func (s *Socket) Connect(ctx context.Context) (mcp.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if !filepath.IsAbs(s.Path) {
		return nil, &OptionError{"Socket.Path", errors.New("is not absolute: name the socket of the server")}
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "unix", s.Path)
	if err != nil {
		return nil, &unreachableError{err}
	}
	return &socketConn{stream: newStream(conn, s.MaxMessage, nil, nil), conn: conn}, nil
}

// A socketConn owns the reader of its stream.
type socketConn struct {
	*stream
	conn net.Conn
}

// Close implements mcp.Conn.
func (c *socketConn) Close() error {
	c.closeOnce.Do(func() {
		c.fail(errClosed)
		_ = c.conn.Close()
		c.wait()
	})
	return nil
}
