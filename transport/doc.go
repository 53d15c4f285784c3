// Package transport holds recipes for connections to MCP servers.
//
// # Choosing a transport
//
//   - [Command] starts a server as a child process and speaks over its standard
//     input and output.
//   - [HTTP] speaks streamable HTTP, the protocol's transport for remote servers.
//   - [SSE] speaks the older HTTP+SSE transport of revision 2024-11-05.
//   - [Auto] tries HTTP and falls back to SSE where the protocol says so.
//   - [Pipe] runs a server in this process.
//
// Each is a plain struct: fill in the fields, and hand a pointer to
// mcp.NewClient. A recipe must not be changed after its first use; it may be
// used for any number of connections, also at the same time.
//
// # Two planes
//
// Every connection made here has two faces. To the official SDK's session it is
// an mcp.Conn, over which the handshake and the server's own requests pass. It
// is also an mcp.Caller, on which an mcp.Client sends its requests: they are
// numbered, sent and answered here, and their results reach the caller as the
// bytes that the server wrote.
//
// # Limits and errors
//
// A message of the server, decoded, is limited to 16 MiB unless MaxMessage says
// otherwise. Errors tell by mcp.OutcomeOf whether the server can have seen the
// request; [ExitError], [StartError], [StatusError] and [RedirectError] say
// more. Texts of errors never hold header values, environment values, or what
// a server wrote in an HTTP body.
//
// # Platforms
//
// Linux is where all of this is tested. The code for macOS and Windows is
// compiled and vetted with every change but has not been run there.
package transport
