// Package gateway serves the servers of a host as one MCP server, over HTTP and stdio.
//
//	o := &host.Options{}
//	gateway.Prepare(o)
//	h, err := host.Open(ctx, "mcp.json", o)
//	...
//	g, err := gateway.New(h, &gateway.Options{Anonymous: true})
//	...
//	defer g.Close()
//	http.ListenAndServe("localhost:8080", g)
//
// # Views
//
// At /mcp a client sees the tools of all servers and those of the program, under their names in
// the registry, and the resources and prompts of all servers. At /p/{profile}/mcp it sees a
// part of that, see [Profile], and at /s/{server}/mcp one server, under its own names. All
// views and all clients use the same connections: there is one process of a server, or one
// for each user if it is configured so.
//
// # Modes
//
// A client is shown all tools, or a few by which it finds and calls the others, or one that runs scripts:
// see Options.Mode. By default what is known of the client decides, and how long the list is. Callers
// who may manage servers have a tool for that, see Options.Manager.
//
// # Revisions
//
// A view speaks all revisions of the protocol at one URL: with sessions until
// 2025-11-25, and without state from 2026-07-28 on. [Gateway.ServeStdio] does so over a
// pair of pipes. A client and a server of different revisions do not notice: input that a
// server needs in the course of a call is asked for in the way of the client's revision, of the
// client whose call it is. Between a client and a server of revision 2026-07-28 the rounds pass
// as they are.
//
// # What passes
//
// Arguments reach the server, and its results the client, token by token as they were
// written, as far as the registry's options change nothing (defaults of the schema, for
// instance, are filled in unless they say otherwise). So do the members of _meta that are
// not between a client and its server. Policies, approvals, the ledger and observers of the
// registry see every call. Progress, log messages, cancellation, subscriptions and changes of
// lists pass in both directions. Roots are those of the client whose call made the server
// ask, and else those of the host, since a connection that is shared has no roots of one client.
//
// # Failures
//
// A call that failed because of its server's connection is a result with isError, whose _meta
// says by [MetaOutcome] whether it can be made again. The gateway repeats only what was not
// sent. A client that gave a token for progress hears something every 15 seconds while a
// server is silent. A call that takes 55 seconds is answered with an id, by which a tool gets its result, for clients
// that are known to give up after a minute; and with a task for those that have the extension for tasks.
//
// # Whom it serves
//
// Over HTTP it serves whom Options.Authenticate lets in, as far as their grant goes; package
// host/access has API keys, and tokens of authorization servers. With Options.Anonymous it
// serves whoever reaches a loopback address, and with neither no one. Requests that name
// another host, or come from a page of another origin, are refused.
package gateway
