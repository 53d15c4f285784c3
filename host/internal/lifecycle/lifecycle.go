// Package lifecycle says, as data, where a configured server can stand, what can happen to it, and what is
// done then. Package host runs it: the supervisor of a server makes one change at a time.
package lifecycle

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A State is where a configured server stands.
type State string

const (
	Absent    State = "absent"    // it has no entry: not yet, or not any more
	Disabled  State = "disabled"  // it is switched off
	Invalid   State = "invalid"   // its entry cannot be used
	Refused   State = "refused"   // it must not start, or cannot be made as its entry says
	Running   State = "running"   // a call is served, over a connection that there is or that the call makes
	Replacing State = "replacing" // running, while a successor starts beside it
)

// Enabled reports whether the server is meant to run.
func (s State) Enabled() bool { return s == Refused || s.Active() }

// Active reports whether the server runs.
func (s State) Active() bool { return s == Running || s == Replacing }

// An Event is what happens to a configured server.
type Event string

const (
	Remove     Event = "remove"     // its entry is gone
	Disable    Event = "disable"    // it is switched off, by its entry or by a user
	Invalidate Event = "invalidate" // its new entry cannot be used, or it is not known whether that may start
	Refuse     Event = "refuse"     // it must not start, or not go on
	Quarantine Event = "quarantine" // its new entry is in quarantine, and the one that runs is not
	Start      Event = "start"      // it is to run as an entry says, which is new or is to be read anew
	Succeed    Event = "succeed"    // the successor is ready, or no worse than what it replaces
	Fail       Event = "fail"       // the successor does not work, or is not wanted any more
)

// An Action is what is done about an event.
type Action string

const (
	None    Action = "none"    // nothing happens: the entry is that of the server
	Keep    Action = "keep"    // it goes on as it was, and the new entry is tried again
	Note    Action = "note"    // what is left of its tools goes, and the new entry does not run either
	Stop    Action = "stop"    // its tools go, and its connections end with their calls
	Launch  Action = "launch"  // it starts; tools of a server that was lost stay listed for a while
	Restart Action = "restart" // stop, then launch
	Replace Action = "replace" // a successor starts beside it
	Promote Action = "promote" // the successor takes its place, and its tools that of the old ones, in one step
	Discard Action = "discard" // the successor stops
)

// A Row is a transition, or says why there is none. It is that of each of its states and events.
type Row struct {
	From       []State
	On         []Event
	To         State
	Do         Action
	Impossible string // why the events cannot happen in the states; empty: they can
}

// table has one row for each state and event.
var table = []Row{
	{From: []State{Absent}, On: []Event{Remove}, To: Absent, Do: Note},
	{From: []State{Disabled, Invalid, Refused, Running}, On: []Event{Remove}, To: Absent, Do: Stop},
	{From: []State{Absent, Disabled, Invalid, Refused}, On: []Event{Disable}, To: Disabled, Do: Note},
	{From: []State{Absent, Disabled, Invalid, Refused}, On: []Event{Invalidate}, To: Invalid, Do: Note},
	{From: []State{Absent, Disabled, Invalid, Refused}, On: []Event{Start}, To: Running, Do: Launch},
	{From: []State{Running}, On: []Event{Disable}, To: Disabled, Do: Stop},
	{From: []State{Running}, On: []Event{Invalidate}, To: Running, Do: Keep},
	{From: []State{Running}, On: []Event{Start}, To: Replacing, Do: Replace},
	{From: []State{Refused, Running}, On: []Event{Quarantine}, To: Running, Do: Restart},
	{From: []State{Refused, Running, Replacing}, On: []Event{Refuse}, To: Refused, Do: Stop},
	{From: []State{Refused, Replacing}, On: []Event{Succeed}, To: Running, Do: Promote},
	{From: []State{Replacing}, On: []Event{Fail}, To: Running, Do: Discard},
	{From: []State{Refused}, On: []Event{Fail}, To: Refused, Do: Discard}, // refused while the successor started
	{From: []State{Absent, Disabled, Invalid}, On: []Event{Refuse, Quarantine}, Impossible: "nothing runs"},
	{From: []State{Absent, Disabled, Invalid, Running}, On: []Event{Succeed, Fail}, Impossible: "there is no successor"},
	{From: []State{Replacing}, On: []Event{Remove, Disable, Invalidate, Quarantine, Start}, Impossible: "a change waits for the one before it, or cancels it"},
}

// Next returns the row of a state and an event.
func Next(from State, on Event) Row {
	i := slices.IndexFunc(table, func(r Row) bool { return slices.Contains(r.From, from) && slices.Contains(r.On, on) })
	return table[i]
}

// What is known of the tools of a server that is active.
const (
	Unknown  = iota
	Unlisted // they could not be listed
	Listed   // if only at an earlier time
)

// stages says at which stage a server is that is active: by the phase of the connection for all users, and by
// what is known of its tools.
var stages = map[mcp.Phase][]string{
	mcp.Idle:           {Unknown: "configured", Unlisted: "configured", Listed: "cached"},
	mcp.Connecting:     {Unknown: "starting", Unlisted: "starting", Listed: "starting"},
	mcp.Ready:          {Unknown: "starting", Unlisted: "waiting", Listed: "ready"},
	mcp.Waiting:        {Unknown: "waiting", Unlisted: "waiting", Listed: "waiting"},
	mcp.Authenticating: {Unknown: "login", Unlisted: "login", Listed: "login"},
	mcp.Closed:         {Unknown: "configured", Unlisted: "configured", Listed: "cached"},
}

// Stage returns the stage of a server that is active, by the phase of its connection and what is known of its tools.
func Stage(phase mcp.Phase, tools int) string { return stages[phase][tools] }
