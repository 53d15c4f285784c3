package transport_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A server that listens on a Unix socket.
func ExampleSocket() {
	client := mcp.NewClient("local", &transport.Socket{Path: "/run/server.sock"}, nil)
	defer func() { _ = client.Close() }()
	_, err := client.Tools(context.Background())
	fmt.Println(err != nil) // nothing listens there
	// Output: true
}
