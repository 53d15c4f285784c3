package activity

import (
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity/event"
)

// An Event is one thing that happened. Its fields list the words for what can happen.
type Event = event.Event

// A Filter says which events are wanted. Its zero value, and nil, mean all.
type Filter struct {
	// Since and Until bound the time: not before Since, and before Until. Zero: no
	// bound.
	Since, Until time.Time
	// Kinds are those wanted; none: all.
	Kinds []string
	// Outcomes are those wanted; none: all.
	Outcomes []string
	// ID, Parent, User, Server and Tool have to be equal; empty: any.
	ID, Parent, User, Server, Tool string
}

// Match reports whether an event is wanted.
func (f *Filter) Match(e *Event) bool {
	if f == nil {
		return true
	}
	return (f.Since.IsZero() || !e.Time.Before(f.Since)) &&
		(f.Until.IsZero() || e.Time.Before(f.Until)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(len(f.Outcomes) == 0 || slices.Contains(f.Outcomes, e.Outcome)) &&
		wants(f.ID, e.ID) && wants(f.Parent, e.Parent) && wants(f.User, e.User) &&
		wants(f.Server, e.Server) && wants(f.Tool, e.Tool)
}

func wants(want, value string) bool { return want == "" || want == value }
