// Package gate judges the tools of MCP servers by what their servers say of them,
// before they are listed, compiled, or shown to a model.
//
// A registry has a [Gate] of its own: package registry takes [Options], reports a tool
// that is not listed by an [*Error], and keeps what merely looks wrong as a list of
// [Finding] values. A tool that is too large, cannot be checked, or hides text is
// blocked; text that urges the model, or speaks of other servers, is a warning.
// [Options].Severity chooses otherwise.
//
// [Gate.Check], [Gate.Admit], [Gate.Lookalikes] and [Gate.References] are pure
// functions of what a server says, a [Tool]. All are safe for concurrent use.
package gate
