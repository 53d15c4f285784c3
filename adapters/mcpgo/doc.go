// Package mcpgo joins a registry with github.com/mark3labs/mcp-go, in both directions.
//
// # A client as a source of tools
//
// A [Source] makes the tools of a server, which a client of mcp-go is connected to,
// tools of a registry, and keeps them up to date.
//
//	source := belt.NewSource(client, registry.Server{Name: "notes"}, reg)
//	diff, err := source.Refresh(ctx)
//	go source.Watch(ctx)
//
// The client stays yours: start it, initialize it, close it. It does none of what an
// [github.com/mcpbelt/mcpbelt/mcp.Client] does beyond that, such as connecting again.
//
// Schemas come byte by byte, though a client of mcp-go has of them only what its
// structures have: the lists are read from its transport. Results are those of the
// client, and keep what it keeps, which is everything but the icons of links, and digits
// of large numbers in _meta.
//
// # Tools on a server
//
// An [Export] puts the tools of a registry on a server of mcp-go, next to its own.
//
//	s := server.NewMCPServer("belt", "1.0.0", server.WithToolCapabilities(true),
//		server.WithToolFilter(belt.Filter(reg, opts)))
//	export := belt.NewExport(s, reg, opts)
//	export.Refresh()
//	go export.Watch(ctx)
//
// Calls go through the registry's Call, with its policy. A call that waits for an
// approval is a failed result that says so: the server's user answers by the registry,
// and the model calls again, or [ExportOptions].Wait holds the call until then. For a
// login, a client that can is told where, see [ExportOptions].Login.
//
// # Goroutines
//
// Watch runs in the caller's goroutine, until its context ends; a Source's has one more,
// which listens, and ends before Watch does. Each request to a server has one of its own,
// which ends with it: a client of mcp-go waits for a server that reads nothing, and who
// called is not held up by that. Such requests end with the client's Close; after 64 of
// them no more calls are made.
package mcpgo
