// Package mcptest is a scripted MCP server for tests of what stands on package
// mcp: it says exactly what the test wants, well or badly, and remembers what
// it heard.
//
// # A server in a few lines
//
// A [Script] says what to do for each method. [Handshake] is the part that every
// server needs, for either kind of revision; what is not in the script is
// answered with "method not found".
//
//	server := mcptest.NewServer(t,
//		mcptest.Handshake(mcp.Revision20251125, ""),
//		mcptest.Script{
//			"tools/list": mcptest.Result(`{"tools":[]}`),
//			"tools/call": mcptest.Sequence(mcptest.Disconnect, mcptest.Result(`{"content":[]}`)),
//		})
//	client := mcp.NewClient("scripted", server, nil)
//
// A [Handler] is a function, so a test can do anything else with the [Call]:
// answer late, ask the client, report progress, or check the parameters.
//
// # Two ways to reach it
//
// A [Server] is a transport whose connections pass messages in memory and have
// no data plane of their own. [Server.Serve] serves any other transport, such
// as a Pipe of package transport, which has one.
//
// # Time
//
// Nothing here looks at the clock but [Server.Await], and everything works in
// the bubbles of testing/synctest, if the server is made there.
package mcptest
