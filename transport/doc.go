// Package transport connects to MCP servers: it starts a child process, or reaches a server by
// HTTP or by a socket of this machine. A transport is a struct to fill in and to hand to
// mcp.NewClient, which connects, and connects again when that ends.
//
//	t := &transport.HTTP{
//		URL:    "https://mcp.example.com/mcp",
//		Header: http.Header{"Authorization": {"Bearer " + os.Getenv("TOKEN")}},
//	}
//	c := mcp.NewClient("example", t, nil)
//	defer c.Close()
//	tools, err := c.Tools(ctx)
//
// # Choosing a transport
//
//   - [Command] starts a server as a child process and speaks over its standard
//     input and output.
//   - [HTTP] speaks streamable HTTP, the protocol's transport for remote servers; with
//     [SSE] the older HTTP+SSE transport of revision 2024-11-05; and with [Auto] the
//     latter where a server refuses the former.
//   - [Socket] speaks with a server that listens on a Unix domain socket.
//   - [Pipe] runs a server in this process.
//
// None may be changed after its first use. Each may be used for any number of connections,
// also concurrently. One of your own implements mcp.Transport; package transporttest tests it.
//
// # Messages and calls
//
// Every connection made here is an mcp.Caller, on which an mcp.Client sends its
// requests: the connection numbers them, sends them, and returns their results as the
// bytes that the server wrote. As an mcp.Conn it reads the requests and notifications of
// the server, and writes what answers them.
//
// # Limits and errors
//
// A message of the server, decoded, is limited to 16 MiB unless MaxMessage says
// otherwise. A limit that is 0 is the default, and a negative one means that there is
// none. mcp.OutcomeOf says of an error whether the server can have seen the
// request; [ExitError], [StartError], [StatusError] and [RedirectError] say
// more. Texts of errors never hold header values, environment values, or what
// a server wrote in an HTTP body.
//
// # Platforms
//
// All tests run on Linux. The code for macOS and Windows is type-checked with every
// change, and compiled and vetted before a release, but has not been run there.
package transport
