// Package names says what the tools of MCP servers are called in a catalogue:
// "github__create_issue", or another [Scheme].
//
// A Scheme, as registry.Options.Names, makes a name from a server and a tool alone: it
// fits what providers of models allow, is the same in every process, and means one
// tool. [Scheme.Name] tells it before the tool is there.
package names
