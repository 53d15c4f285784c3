// Package mcp is a client of the Model Context Protocol, for one server and any number
// of connections to it: it connects when it is used, and again when a connection is lost, and
// says of each call that failed whether it ran.
//
//	c := mcp.NewClient("notes", &transport.Command{Path: "notes-server"}, nil)
//	defer c.Close()
//	res, err := c.CallTool(ctx, "create", json.RawMessage(`{"text":"hi"}`), nil)
//	if err != nil {
//		return fmt.Errorf("%w (%v)", err, mcp.OutcomeOf(err)) // answered, not sent, or unknown
//	}
//	fmt.Println(res.Text())
//
// Package transport has the ways to a server. For the servers of a config file, see package host.
//
// # One server, many connections
//
// A [Client] stands for one server and one identity. It connects on first use
// (or on [Client.Ready]), notices the end of a connection as an event, connects
// again with growing waits, and works until [Client.Close]. Each connection is made
// from the same [Transport]; the Client that the caller holds stays.
//
// [Client.State] returns the state of the client as a value, and [Client.Watch] yields
// its changes.
//
// # The outcome of a call
//
// A call that returns an error may have run or not. [OutcomeOf] says what is known:
// [NotSent], [Answered] or [Unknown]. The client repeats a call by itself, once, if it
// was not sent. If its outcome is unknown it repeats the call only where that is
// harmless by the tool's annotations and [ClientOptions].TrustAnnotations says that
// these can be trusted. Every other call with an unknown outcome returns an
// [*OutcomeUnknownError].
//
// Package failure tells the errors of calls and connections apart, for programs that
// count or explain them.
//
// # Deadlines
//
// A context bounds a call, not the client. Calls also end without an answer or
// progress for a minute, and after ten minutes whatever happens; both are
// options, and negative ones are no limit. No method waits longer than its context, whatever the server does.
//
// # Busy and hanging servers
//
// No more than [ClientOptions].MaxInFlight requests are on their way to a
// server, and no more than MaxQueued, of users in turns, wait; further ones fail at
// once with a [*BusyError], which says when to try again. Pings find a server that hangs, which gets a new
// connection; a server that may be busy is left alone, unless one call after the other
// is given up. See HealthInterval.
//
// # Logins
//
// No call waits for a human. A call that needs the user to log in fails with an
// error that has the address, and the state becomes [Authenticating], with its
// LoginURL. After the login the client continues by itself, on the connection that it
// has or on a new one.
//
// # Resources and prompts
//
// [Client.Resources], [Client.ResourceTemplates] and [Client.Prompts] yield the items
// of the server, page by page; [Client.ReadResource] and [Client.GetPrompt] fetch one.
// [Client.ResourceUpdates] yields changes, across connections:
//
//	for uri, err := range c.ResourceUpdates(ctx, "file:///journal") {
//		if err != nil {
//			return err
//		}
//		res, err := c.ReadResource(ctx, uri, nil)
//		...
//	}
//
// [Client.Complete] completes an argument.
//
// # Server requests
//
// A server may make requests itself: elicitation of the user, by form or by URL,
// sampling of a language model, and its roots. Set the handlers Elicit, ElicitURL,
// Sample and ListRoots of [ClientOptions]; a capability without a handler is not
// declared. Handlers get the name of the server and are the same in all revisions. Where
// it is known which call made the server ask, they also get the name of the tool and the
// values of the call's context, see [ElicitRequest]. Package ask has ready ones, and package
// form has the types of forms. While a handler runs the idle time of calls stands still.
//
// A gateway that passes the server requests of revision 2026-07-28 on to its own client
// makes the rounds of a call itself, with an [InputRound]: the requests come with an
// [*InputRequiredError] instead of to the handlers.
//
// # Tasks
//
// A call of a tool may become a task, which continues after the request for it was
// answered. [Client.CallTool] waits for its result all the same; [TaskOptions] observe
// it, and [Client.ResumeTask] comes back to it after a restart.
//
// # Structured results
//
// The structured content of a result is checked against the tool's output schema. If it
// does not match the error is an [*OutputError], which holds the result as it came.
//
// # Protocol revisions
//
// The client finds out which revision a server speaks: it sends discover, of revision
// 2026-07-28, and falls back to initialize of the older ones, on a new connection if
// discover ended the first. It remembers the result. Callers see no difference.
//
// # Header fields of one call
//
// [WithHTTPHeader] returns a context whose calls carry further header fields to a server that is
// reached by HTTP, also through a host and a registry.
//
// # For transports and hosts
//
// What follows is for programs that implement a transport, a host or telemetry. A transport implements
// [Transport] and [Conn]; one that matches answers to requests itself implements [Caller],
// with [CallOptions]. It reports what became of a request by [WithOutcome],
// [ErrSessionLost] and [ErrAnswerLost], and sends the fields of [HTTPHeader]. A host binds a call to one connection by the field Connection of
// [RequestOptions], and calls again after [ErrOtherConnection]. An adapter for telemetry
// implements [Tracer] and perhaps [RetryTracer] and [SessionTracer], and gets a
// [RequestInfo] or a [SessionInfo] with a [ConnInfo].
//
// Package mcptest has a scripted server. Package cassette records what passes over a
// connection, message by message, to read or to play back.
//
// # What the official SDK does
//
// Its types are those of this package, except [Tool] and [CallToolResult], which also
// hold what the server sent. Any of its transports can be used, but it takes no part in a
// connection: a [Conn] that is also a [Caller], as those of package transport are, carries
// the handshake and the requests, and results are decoded once, here.
package mcp

// Order of the files, from the bottom: protocol, transport, errors, decode, decode_content,
// decode_result, result, tool, wait, object, foreign, task, offered, state, trace, question,
// logging, options, shared, outgoing, elicit, sample, server_request, pending, connection,
// pending_set, handshake, revision, health, send, listen, inbound, connect, supervise, cache,
// client, request, list, tools, exchange, task_wait, call, resources, skills.
