// Package registry keeps one catalogue of tools, the tools of any number of MCP servers next to
// an agent's own Go functions, and one way to call them all: arguments are checked, people are
// asked, and results bounded. A host fills it with the tools of servers, and keeps them up to date.
//
//	type point struct{ X, Y int }
//	sum := func(_ context.Context, p point) (int, error) { return p.X + p.Y, nil }
//
//	r := registry.New(nil)
//	if err := r.Add(registry.MustFunc("sum", "Add two integers", sum)); err != nil {
//		return err
//	}
//	res, err := r.Call(ctx, "sum", json.RawMessage(`{"X":1,"Y":2}`))
//	if err != nil {
//		return err
//	}
//	fmt.Println(result.Text(res)) // 3
//
// The model is told of r.Callable(ctx); package profile and the adapters do that for providers and frameworks.
//
// # Make a tool
//
// [Func] makes a [Tool] from a Go function and takes its schemas from the
// function's types. [Remote] makes one from a tool of an MCP server. Anything
// else that implements Tool is welcome too. [With] gives a tool another title,
// description, name or annotations.
//
// # Keep the catalogue
//
// A [Registry] holds tools by name. [Registry.Add] adds native tools,
// [Registry.Replace] swaps all tools of one server in one step and says what changed,
// [Registry.Remove] takes tools away. A second tool of the same name is refused and the
// first keeps it.
//
// # Name the tools of servers
//
// [names.Scheme] says how: "github__create_issue", or another one. A name fits what
// providers of models allow, is the same in every process, and never means two
// tools. [Definition.DisplayName] is for people.
//
// # Read the catalogue
//
// [Registry.Snapshot] is the catalogue at one moment: sorted, immutable, and as
// cheap as one atomic load. [Registry.Watch] yields a snapshot after each change.
// [Registry.Callable] leaves out what a policy denies.
//
// # Find a tool
//
// Package registry/toolset finds tools by words in any spelling or form, and by
// meaning. It returns the tools that a model is told of, and what they take of its
// context window; if that is too much, tools by which the model searches itself.
//
// # Call a tool
//
// [Registry.Call] finds the tool, checks the arguments against its schema, lets
// the [Approver] decide, runs the middleware of [Registry.Use], calls the tool, and
// checks and shapes the result. Errors and results are worded so that a model can
// read them and correct itself; [ErrorResult] makes a result of an error.
//
// # Keep hostile servers out
//
// Each tool of a server passes a gate, see package registry/gate: what is too large, cannot
// be checked, or hides text is not listed, and what merely looks wrong is a
// [gate.Finding] of [Snapshot.Findings]. A [ledger.Ledger] remembers what was accepted, in a
// file to be committed, and holds back what is new or changed:
// [Snapshot.Quarantined] has it, and a call fails with a [*QuarantinedError] that
// says what changed.
//
// # Decide which calls are made
//
// An [Approver] sees user, server, tool and arguments. Package
// registry/policy makes one of rules, an [ApproverFunc] is anything else. [approval.Ask] lets a call fail with an
// [*ApprovalRequiredError], which [Registry.Approve] and [Registry.Deny] answer
// from anywhere; [Registry.Approvals] and [Registry.WatchApprovals] show what
// waits, and [Registry.Await] waits for the answer. Annotations are claims: those of
// a server that is not trusted make decisions stricter, never looser.
//
// # Read results
//
// [result.Text] returns a result as a model reads it, [result.Decode] as a Go value,
// [result.TerminalText] as a terminal can show it. [result.Options] bounds results, keeps
// whole what was cut for the tool read_result, redacts secrets and marks what comes
// from outside.
//
// # Follow a long call
//
// [WithProgress] asks for the progress of the calls made under a context;
// [ReportProgress] reports it from within a native tool. [WithCallID] gives a call an
// id, by which progress, events and approvals of calls to the same tool are told apart.
package registry

// Order of the files, from the bottom: errors, context, server, tool, hints, validation, remote,
// func, entry, matcher, middleware, observer, grant, approver, pending, approval,
// approval_pending, decide, quarantine, snapshot, catalogue, registry, callable, explain, observe,
// error_result, replace, call, approval_resume.
