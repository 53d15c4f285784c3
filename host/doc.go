// Package host keeps the MCP servers of a program connected and their tools in
// one registry.
//
// # Opening
//
//	h, err := host.Open(ctx, ".mcp.json", nil)
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	h.Registry().Add(registry.MustFunc("add", "Add two numbers", add))
//	res, err := h.Registry().Call(ctx, "notes__create", json.RawMessage(`{"text":"hi"}`))
//
// Open reads a config file in the mcpServers format and starts all servers in
// parallel. It returns when each is ready or has failed once. A server that
// failed harms no other: it stands in [Host.Servers] with its error, and is
// tried again in the background. Only the failure of a server that the file
// calls required makes Open fail.
//
// # What becomes of tools
//
// A server's tools appear in the registry when it is ready, and change with it.
// When its connection is lost they stay for a while ([Options].ToolGrace), since
// most connections come back at once, and calls wait for that; then they
// vanish, and appear again when the server does. Disable, Apply without the
// server, and Close remove them at once.
//
// # Changing
//
// [Host.Apply] takes another configuration while the host runs: what did not
// change is not touched, and a changed server is replaced when its successor is
// ready. [Host.Enable], [Host.Disable] and [Host.Restart] act on one server.
//
// # Ending
//
// [Host.Shutdown] lets calls under way finish; [Host.Close] does not. When they
// return, no process and no goroutine of the host is left.
package host
