// Package clients says what is known of clients of MCP servers by their names: which list of
// tools suits them, and what they do otherwise than the protocol says.
//
// The data is a file, clients.json, of one row for each name. Each row has the facts that it
// comes from in words: a row whose facts are not so any more is to be changed.
package clients
