// Package registry keeps one catalogue of tools: the tools of any number of MCP
// servers next to an agent's own Go functions.
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
// [Registry.Replace] swaps all tools of one server in one step and says what
// changed, [Registry.Remove] takes tools away. Nothing is ever renamed behind the
// caller's back: a second tool of the same name is refused and the first keeps it.
//
// # Read the catalogue
//
// [Registry.Snapshot] is the catalogue at one moment: sorted, immutable, and as
// cheap as one atomic load. [Registry.Watch] yields a snapshot after each change.
//
// # Call a tool
//
// [Registry.Call] finds the tool, checks that the arguments are a JSON object,
// runs the middleware of [Registry.Use], and calls the tool. A name that is not
// listed fails with an [*UnknownToolError] that suggests the nearest names. Errors
// and results are worded so that a model can read them and correct itself.
//
// # Follow a long call
//
// [WithProgress] asks for the progress of the calls made under a context;
// [ReportProgress] reports it from within a native tool.
package registry
