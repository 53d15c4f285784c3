// Package result reads the results of tools, and gives them the form and size that a
// model can take.
//
// # Read a result
//
// [Text] returns a result as a model reads it, [Pieces] block by block, [Decode] as a
// Go value, [TerminalText] as a terminal can show it.
//
// # Shape results
//
// [Options], as registry.Options.Results, bound the size of results, keep whole what
// was cut for the tool read_result, redact secrets and mark what comes from outside. A
// registry has a [Shaper] of its own.
package result
