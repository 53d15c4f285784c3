package mcptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A server that dies of the first call of a tool.
func ExampleNewServer() {
	t := &testing.T{} // your test has its own
	server := mcptest.NewServer(t,
		mcptest.Handshake(mcp.Revision20251125, ""),
		mcptest.Script{
			"tools/call": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{"content":[]}`)),
		})
	c := mcp.NewClient("scripted", server, nil)
	defer c.Close()

	for range 2 {
		_, err := c.CallTool(context.Background(), "x", json.RawMessage(`{}`), nil)
		fmt.Println(mcp.OutcomeOf(err))
	}
	fmt.Println(len(server.Received("tools/call")), "calls on", server.Connections(), "connections")
	// Output:
	// unknown
	// answered
	// 2 calls on 2 connections
}

// The same server behind a transport that has a data plane.
func ExampleServer_Serve() {
	t := &testing.T{} // your test has its own
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, ""))
	c := mcp.NewClient("scripted", &transport.Pipe{Serve: server.Serve}, nil)
	defer c.Close()
	fmt.Println(c.Ready(context.Background()), c.State().ProtocolVersion)
	// Output:
	// <nil> 2026-07-28
}
