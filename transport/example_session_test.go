package transport_test

import (
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A user's client is closed for some time, and the next one goes on with its session.
func ExampleSession() {
	var session transport.Session // of this user
	connect := func() *mcp.Client {
		return mcp.NewClient("issues", &transport.HTTP{URL: "https://issues.example.com/mcp", Session: &session}, nil)
	}
	client := connect()
	// ... calls of the user, who does nothing for a while then ...
	session.Keep()
	_ = client.Close()

	client = connect() // sends no handshake if the server still knows the session
	_ = client.Close() // and ends it

	session.End() // nothing: there is none
}
