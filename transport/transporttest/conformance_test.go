package transporttest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// faultVariable names the promise that the transport of TestPlainConn breaks.
const faultVariable = "TRANSPORTTEST_FAULT"

// A plain transport has connections that are no [mcp.Caller].
type plain struct {
	mcp.Transport
	fault  string
	before atomic.Bool // it has connected once
}

func (p *plain) Connect(ctx context.Context) (mcp.Conn, error) {
	if p.before.Swap(true) && p.fault == "again" {
		return nil, errors.New("connected before")
	}
	conn, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &plainConn{Conn: conn, fault: p.fault}, nil
}

type plainConn struct {
	mcp.Conn
	fault  string
	closed atomic.Bool
}

func (c *plainConn) Close() error {
	if c.closed.Swap(true) && c.fault == "close" {
		return errors.New("closed before")
	}
	return c.Conn.Close()
}

// The kit tests a connection that can only read and write.
func TestPlainConn(t *testing.T) {
	transporttest.TestTransport(t, func(*testing.T) transporttest.Recipe {
		r, fault := transporttest.Recipe{}, os.Getenv(faultVariable)
		if fault == "limit" {
			r.MaxMessage = 64 << 10 // the pipe takes more
		}
		r.Transport = &plain{fault: fault, Transport: &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
			return transporttest.NewServer().Run(ctx, t)
		}}}
		return r
	})
}

// The kit finds a promise that is broken, and says which.
func TestBrokenPromises(t *testing.T) {
	for fault, check := range map[string]string{"again": "connects_again", "close": "Close_may_be_repeated", "limit": "message_limit"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPlainConn$/^"+check+"$")
		cmd.Env = append(os.Environ(), faultVariable+"="+fault)
		out, err := cmd.CombinedOutput()
		assert.Fails(t, err, "%s", fault)
		assert.Contains(t, string(out), "--- FAIL: TestPlainConn/"+check, "%s", fault)
	}
}
