// Command client is the client under test of the official MCP conformance
// suite. The suite starts it once per scenario:
//
//	MCP_CONFORMANCE_SCENARIO=tools_call client http://localhost:1234/mcp
//
// MCP_CONFORMANCE_CONTEXT holds a JSON object with what some scenarios give to
// the client, such as a registered OAuth client. The program exits with 0 if
// the scenario went as a user of the library would expect, and gives up by
// itself after 25 s, since the suite does not kill a client that hangs.
package main
