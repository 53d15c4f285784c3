// Package gate judges the tools of MCP servers by what their servers say of them,
// before they are listed, compiled, or shown to a model.
//
// A registry passes each tool of a server through the gate: it reports a tool that is not
// listed by an [*Error], and keeps what merely looks wrong as a list of [Finding] values. A tool
// that is too large, cannot be checked, or hides text is blocked; text that urges the model, or
// speaks of other servers, is a warning.
//
// [Check], [Admit], [Lookalikes] and [References] are pure functions of what a server says, a
// [ledger.Tool].
package gate
