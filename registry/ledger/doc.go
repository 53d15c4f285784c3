// Package ledger remembers which tools of MCP servers were accepted, in a file that is
// committed beside the configuration, and says what is new or changed since.
//
//	l, err := ledger.Open("mcp.lock.json", nil)
//	r := registry.New(&registry.Options{Ledger: l})
//
// # Decide
//
// Under the mode [Pin] the first list of a server is accepted and what changes later
// waits, under [Review] all waits, under [Trust] nothing does. [Ledger.Pending] returns
// what waits, each a [Change] with its differences; [Ledger.Accept] and [Ledger.Reject]
// decide. [Ledger.Entries] returns what was decided, [Ledger.Verify] what a server says
// otherwise.
//
// # Keep
//
// [Open] keeps a ledger in a file that git can merge, [Load] in any [storage.Store], [New] in
// memory.
//
// # Ask
//
// A registry asks the ledger what may be called: [Ledger.Record] tells it what a server
// lists, as a [Surface] for each tool, and [Ledger.Judge] returns why a tool is held
// back.
package ledger
