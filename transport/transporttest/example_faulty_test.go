package transporttest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// The first call of a tool runs, but its answer never comes. A test of a program
// looks at what the program makes of that; here it is the client alone.
func ExampleFaulty() {
	t := &testing.T{} // your test has its own
	server := &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
		return transporttest.NewServer().Run(ctx, t)
	}}
	faulty := transporttest.Faulty(t, server, transporttest.Fault{
		Kind: transporttest.FaultDrop, Method: "tools/call", Nth: 1,
	})
	c := mcp.NewClient("faulty", faulty, nil)
	defer c.Close()

	_, err := c.CallTool(context.Background(), "echo", json.RawMessage(`{"text":"hello"}`), nil)
	if mcp.OutcomeOf(err) != mcp.Unknown {
		t.Errorf("outcome %v, want %v", mcp.OutcomeOf(err), mcp.Unknown)
	}
}
