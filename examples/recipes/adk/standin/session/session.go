// Package session stands in for google.golang.org/adk/v2/session: what the recipe for
// ADK uses of it.
package session

// EventActions are what an event does beside its content.
type EventActions struct {
	// SkipSummarization ends the invocation behind the results of this event.
	SkipSummarization bool
}
