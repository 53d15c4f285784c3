// Package outcome says what errors tell of a request: what became of it, and what kind of
// failure it was. Packages mcp and mcp/failure export it; it stands apart so that errors
// of other packages have both without linking a client.
package outcome

import "cmp"

// An Outcome says what is known about a request that returned an error.
type Outcome int

const (
	// Unknown: the request may have run on the server, or not.
	Unknown Outcome = iota
	// NotSent: the server did not run the request and never will.
	NotSent
	// Answered: the server ran the request and answered with an error.
	Answered
)

func (o Outcome) String() string {
	return cmp.Or(map[Outcome]string{NotSent: "not sent", Answered: "answered"}[o], "unknown")
}
