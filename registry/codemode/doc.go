// Package codemode runs scripts that call the tools of a registry, in a sandbox: a model
// writes one script in the place of many calls, and large results stay out of its context.
//
//	func main() {
//		codemode.Child() // first: the sandbox is a process of this program
//		...
//		scripts, err := codemode.New(r, nil, nil)
//		defer scripts.Close()
//		report, err := scripts.Run(ctx, &codemode.Script{Code: `
//			const open = await tools.github.list_issues({state: "open"})
//			return open.filter(i => i.comments > 10).map(i => i.title)`})
//		...
//	}
//
// [Runner.Tool] returns the same as a tool for models, code_execution.
//
// # What a script sees
//
// A script is the body of an async function in JavaScript (ES2023), with the parameter
// input. Beside the language there are
//
//	tools.SERVER.TOOL(args), tools.TOOL(args)  // a tool of a server, a native tool
//	call(name, args)                           // a tool by its name in the registry
//	search(query, limit)                       // [{name, description, declaration}]
//	describe(name)                             // and inputSchema, outputSchema
//	console.log(...)
//
// and nothing else: no files, network, environment, modules, timers or clock but Date. A
// result is the structured content of the tool or else its text, parsed if it is JSON. A
// failure is an exception with a message, a code and an outcome.
//
// # What bounds it
//
// A script runs in QuickJS in a child process, which sees no file, environment or network,
// and which the system confines as far as it can, see [Runner.Confinement]. What reaches
// one of the [Limits] is ended with that process. The parent takes the child for hostile:
// it bounds all that comes from there. Nothing that a script does is more than calls of
// [registry.Registry.Call] by its user: the policy, the ledger and the observers see
// them as they see others.
//
// # Approval
//
// Where the registry's Approver asks a person right away, the script waits, and its clock
// stands, see [approval.WithWait]. Where a call waits in the registry, the script pauses once it
// does nothing else: [Runner.Run] returns what it waits for, and [Runner.Resume] goes on.
// [Script].AskOnce asks a person about a whole loop.
package codemode
