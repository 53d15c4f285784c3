package transport

import (
	"context"
	"errors"
	"net"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Pipe connects to a server that runs in this process. Every Connect makes a
// new in-memory connection and calls Serve with its far end.
type Pipe struct {
	// Serve runs a server on the transport that it is given, which connects
	// once, until the connection or ctx ends. The Run method of the official
	// SDK's server fits. When Serve returns or panics, the connection ends.
	Serve func(ctx context.Context, t mcp.Transport) error
	// CloseTimeout is how long Serve may take to return when the connection is
	// closed. A Serve that takes longer is left running. Default: 5 s. Negative: as long
	// as it takes.
	CloseTimeout time.Duration
	// MaxMessage limits a message of the server, in bytes. Default: 16 MiB.
	// Negative: none.
	MaxMessage int64
}

// Connect starts Serve on a goroutine of its own.
func (p *Pipe) Connect(ctx context.Context) (mcp.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if p.Serve == nil {
		return nil, &OptionError{"Pipe.Serve", errors.New("nil: set the function that runs the server")}
	}
	ours, theirs := net.Pipe()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &pipeConn{ours: ours, stop: stop, served: make(chan struct{}), closeTimeout: closeTimeout(p.CloseTimeout)}
	go func() {
		defer func() { _ = theirs.Close() }() // after served, for cause to see
		defer close(c.served)
		defer caught("Serve", &c.err)
		c.err = p.Serve(serving, &sdk.IOTransport{Reader: theirs, Writer: theirs})
	}()
	c.stream = newStream(ours, p.MaxMessage, c.cause, nil)
	return c, nil
}

// A pipeConn owns the goroutine of Serve and the stream's reader.
type pipeConn struct {
	*stream
	ours         net.Conn // under the stream
	stop         context.CancelFunc
	served       chan struct{} // closed when Serve has returned
	err          error         // what Serve returned
	closeTimeout time.Duration
}

// cause explains the end of the connection by the error of Serve, if that
// returns at once. The SDK's server closes its end before it returns.
func (c *pipeConn) cause(err error) error {
	select {
	case <-c.served:
		if c.err != nil {
			return c.err
		}
	case <-time.After(drainTimeout):
	}
	return err
}

// Close implements mcp.Conn.
func (c *pipeConn) Close() error {
	c.closeOnce.Do(func() {
		c.fail(errClosed)
		_ = c.ours.Close()
		c.stop()
		c.wait()
		select {
		case <-c.served:
		case <-time.After(c.closeTimeout):
		}
	})
	return nil
}
