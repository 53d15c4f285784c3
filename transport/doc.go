// Package transport connects to MCP servers.
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
// mcp.NewClient. Such a recipe must not be changed after its first use; it may be
// used for any number of connections, also concurrently.
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
