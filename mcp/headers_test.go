package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// regional is a list with one tool, whose argument is repeated in a header.
func regional(header string) mcptest.Handler {
	return mcptest.Result(`{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"` + header + `"}}}}]}`)
}

// A server that refuses a call because of its headers has changed the schema
// that asks for them: the client reads it again and repeats the call, once.
func TestHeaderMismatch(t *testing.T) {
	const mismatch = -32020
	for _, gives := range []bool{false, true} {
		answers := mcptest.Sequence(mcptest.Error(mismatch, "header mismatch"), text("done"))
		if !gives {
			answers = mcptest.Error(mismatch, "header mismatch")
		}
		server := modern(t, mcptest.Script{"tools/list": mcptest.Sequence(regional("Old"), regional("New")), "tools/call": answers})
		conns := &headerLog{to: &transport.Pipe{Serve: server.Serve}}
		c := newClient(t, conns, nil)
		wantTools(t, c, "x")
		_, err := c.CallTool(t.Context(), "x", json.RawMessage(`{"region":"eu"}`), nil)
		var refused *mcp.ServerError
		if gives && err != nil || !gives && (!errors.As(err, &refused) || refused.Err.Code != mismatch) {
			t.Errorf("error %v", err)
		}
		wantCount(t, server, "tools/list", 2)
		wantCount(t, server, "tools/call", 2)
		for i, want := range []string{"Mcp-Param-Old", "Mcp-Param-New"} {
			if got := conns.calls[i]; !maps.Equal(got, map[string]string{want: "eu"}) {
				t.Errorf("call %d: headers %v, want %s", i+1, got, want)
			}
		}
	}
}

// A headerLog notes the header fields of the calls on its connections.
type headerLog struct {
	to    mcp.Transport
	mu    sync.Mutex
	calls []map[string]string
}

func (h *headerLog) Connect(ctx context.Context) (mcp.Conn, error) {
	conn, err := h.to.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &headerConn{mcp.CallerOf(conn), h}, nil
}

type headerConn struct {
	mcp.Caller
	log *headerLog
}

func (c *headerConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if method == "tools/call" {
		c.log.mu.Lock()
		c.log.calls = append(c.log.calls, opts.Header)
		c.log.mu.Unlock()
	}
	return c.Caller.Call(ctx, method, params, opts)
}
