// Package mcp speaks the Model Context Protocol with one server, for as long as
// you hold the client.
//
// # One server, many lives
//
// A [Client] stands for one server and one identity. It connects on first use
// (or on [Client.Ready]), notices the end of a connection as an event, connects
// again with growing waits, and goes on until [Client.Close]. Each connection
// is one life, made from the same [Transport]; what the caller holds stays.
//
//	c := mcp.NewClient("notes", &transport.Command{Path: "notes-server"}, nil)
//	defer c.Close()
//	res, err := c.CallTool(ctx, "create", json.RawMessage(`{"text":"hi"}`), nil)
//
// [Client.State] is a value that tells where the client stands, and
// [Client.Watch] yields its changes.
//
// # What became of a call
//
// A call that returns an error may have run or not, and only sometimes can one
// know. [OutcomeOf] says which: [NotSent], [Answered] or [Unknown]. The client
// repeats a call by itself, once, if it was not sent; and if its outcome is
// unknown only where repeating is harmless by the tool's annotations and
// [ClientOptions].TrustAnnotations says that those can be believed. Every other
// call with an unknown outcome returns an [*OutcomeUnknownError].
//
// # Deadlines
//
// A context bounds a call, not the client. Calls also end without an answer or
// progress for a minute, and after ten minutes whatever happens; both are
// options. No method waits longer than its context, whatever the server does.
//
// # Busy and hanging servers
//
// No more than [ClientOptions].MaxInFlight requests are on their way to a
// server, and no more than MaxQueued wait for their turn; further ones fail at
// once with a [*BusyError]. A server that hangs is found out by pings and gets a new
// connection; one that may be busy is left alone, unless one call after the other is
// given up. See HealthInterval.
//
// # Logins
//
// Nobody waits for a human. A call that needs the user to log in fails with an
// error that says where, and the state becomes [Authenticating], with its
// LoginURL. When somebody has logged in the client goes on by itself, on the
// connection that it has or on a new one.
//
// # Resources and prompts
//
// [Client.Resources], [Client.ResourceTemplates] and [Client.Prompts] yield what
// the server offers, page by page; [Client.ReadResource] and [Client.GetPrompt]
// fetch one. [Client.ResourceUpdates] tells of changes, across connections:
//
//	for uri, err := range c.ResourceUpdates(ctx, "file:///journal") {
//		if err != nil {
//			return err
//		}
//		res, err := c.ReadResource(ctx, uri, nil)
//		...
//	}
//
// [Client.Complete] completes an argument, and a [Completer] does so while a user
// types. What a server allows to be kept is kept in a [Cache].
//
// # What servers want
//
// A server may want something itself: an answer of the user, his visit to a web
// page, words of a language model, the roots it may work in. Set the handlers
// Elicit, ElicitURL and Sample and the Roots of [ClientOptions]; what is not set
// the server is told that this client cannot do. Handlers learn which server asks
// and are the same in all revisions. Package ask has ready ones. While one runs no
// call grows impatient.
//
// # Tasks
//
// A call of a tool may become a task, which goes on after the request for it was
// answered. [Client.CallTool] waits for its result all the same; [TaskOptions]
// tell of it, and [Client.ResumeTask] comes back to it after a restart.
//
// # Structured results
//
// What a tool calls its structured result is checked against the tool's output
// schema. If it does not match the error is an [*OutputError], which holds the
// result as it came.
//
// # Protocol revisions
//
// The client finds out what a server speaks: it probes for revision 2026-07-28
// and falls back to the initialize handshake of the older ones, on a new
// connection if the probe ended the first, and remembers the result. Callers
// see no difference.
//
// # Two planes
//
// The handshake, the server's own requests and its notifications pass through a
// session of the official SDK. The client's requests do not: a [Conn] that is
// also a [Caller], as all those of package transport are, carries them, and
// their results are decoded once, here, from the bytes that the server wrote.
package mcp
