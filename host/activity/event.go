package activity

import (
	"encoding/json"
	"time"
)

// A Kind says what was done, or what happened.
type Kind string

// The kinds. They are stable: programs may compare them for years. Others may come,
// and a program may use its own.
const (
	KindCall        Kind = "call"        // a tool was called, with whatever outcome
	KindDenied      Kind = "denied"      // a call was not allowed
	KindApproval    Kind = "approval"    // a user was asked about a call, or answered
	KindQuarantined Kind = "quarantined" // tools of a server that wait for approval, or a call of one
	KindRejected    Kind = "rejected"    // tools of a server that are not listed, as they could do harm
	KindLogin       Kind = "login"       // a user logged in at a server, or is to
	KindLogout      Kind = "logout"      // a user logged out at a server
	KindConfig      Kind = "config"      // the configuration was changed
	KindStart       Kind = "start"       // a server was started
	KindStop        Kind = "stop"        // a server was stopped
	KindReplace     Kind = "replace"     // a server was replaced by one that is configured otherwise
	KindState       Kind = "state"       // a server became something else, such as ready
	KindConsent     Kind = "consent"     // a user decided whether a server may be started
	KindDropped     Kind = "dropped"     // events are missing here, see [DetailEvents]
)

// An Outcome says what became of it.
type Outcome string

// The outcomes. They are stable as the kinds are.
const (
	OK            Outcome = "ok"             // done
	ToolError     Outcome = "tool_error"     // the tool ran, and its result says that it failed
	Failed        Outcome = "error"          // any other failure
	UnknownTool   Outcome = "unknown_tool"   // no tool has that name
	BadArguments  Outcome = "bad_arguments"  // the tool does not take these arguments
	Denied        Outcome = "denied"         // not allowed, by policy or because no one could decide
	Asked         Outcome = "asked"          // it waits for approval
	Approved      Outcome = "approved"       // a user said yes
	Refused       Outcome = "refused"        // a user said no
	Quarantined   Outcome = "quarantined"    // the tool is new or has changed, and waits for approval
	Unknown       Outcome = "unknown"        // it is not known whether it was done
	NotSent       Outcome = "not_sent"       // the server was not reached
	Cancelled     Outcome = "cancelled"      // who wanted it has given up
	TimedOut      Outcome = "timeout"        // it took too long
	LoginRequired Outcome = "login_required" // the user has to log in first
	Busy          Outcome = "busy"           // too many calls are under way at that server
)

// Keys of Event.Detail that the host and the log use. They are stable, too.
const (
	// DetailEvents is how many events are missing in the place of a [KindDropped]
	// event, in decimal digits.
	DetailEvents = "events"
	// DetailName is the name under which a tool was called, if its server calls it
	// otherwise.
	DetailName = "name"
	// DetailConversation is that of registry.WithConversation.
	DetailConversation = "conversation"
	// DetailApproval is equal for the events about one call that waited for approval.
	// It is a hash of the id: a reader of the log cannot approve with it.
	DetailApproval = "approval"
	// DetailBy is who did it, where it was not Event.User.
	DetailBy = "by"
	// DetailVia is "call_tool" for a call by way of that tool.
	DetailVia = "via"
	// DetailRan says whether a call that failed has run: "no", "yes" or "perhaps".
	DetailRan = "ran"
	// DetailFrom and DetailTo are what a [KindState] event says has changed.
	DetailFrom = "from"
	DetailTo   = "to"
	// DetailSource is the file and line of a server's entry.
	DetailSource = "source"
	// DetailChange says what was done, such as "set" for a [KindConfig] event.
	DetailChange = "change"
	// DetailTools names the tools that a server's list holds and that are held back,
	// each with the reason, as far as there is room; DetailCount is how many there are.
	DetailTools = "tools"
	DetailCount = "count"
)

// Bounds of an event, in bytes. [Log.Record] cuts off what is longer.
const (
	// maxText bounds ID, Parent, User, Server, Tool and each value of Detail.
	maxText = 512
	// MaxError bounds Error.
	MaxError = 2 << 10
	// maxArguments bounds Arguments; longer ones are left out, not cut.
	maxArguments = 16 << 10
	// maxDetail bounds the number of values in Detail.
	maxDetail = 32
)

// An Event is one thing that happened. What [Log.Record] has passed on holds valid
// UTF-8 within the bounds, no secret of a known form, and a time. It may be shared:
// do not change Arguments and Detail then. Texts may be those of models and servers:
// show them as such.
type Event struct {
	// Time is when it ended, in UTC.
	Time time.Time `json:"time"`
	// ID tells it from others. For a call it is that of registry.WithCallID, which is the
	// same for all events of the call and is as unique as its giver made it.
	ID string `json:"id"`
	// Parent is the ID of what it is a part of; empty if that was not said.
	Parent string `json:"parent,omitempty"`
	// Kind says what it is.
	Kind Kind `json:"kind"`
	// User is on whose behalf; empty: the program's, or not known.
	User string `json:"user,omitempty"`
	// Server is the name under which the server is configured; empty for what the
	// program has of itself, and for tools that do not exist.
	Server string `json:"server,omitempty"`
	// Tool is the name that the tool has at its server; for a tool that does not exist
	// the name that was asked for.
	Tool string `json:"tool,omitempty"`
	// Outcome says what became of it; empty for what has none.
	Outcome Outcome `json:"outcome,omitempty"`
	// Error says why, in words, for people.
	Error string `json:"error,omitempty"`
	// Duration is how long it took; in JSON in nanoseconds.
	Duration time.Duration `json:"durationNs,omitempty"`
	// ArgumentBytes is how long the arguments were.
	ArgumentBytes int64 `json:"argumentBytes,omitempty"`
	// ResultBytes is about how much content came back.
	ResultBytes int64 `json:"resultBytes,omitempty"`
	// ArgumentHash is equal for equal arguments, however they are written, in one log
	// or under one [Options].HashKey: "hmac-sha256:" and 64 hexadecimal digits. Empty:
	// there were no arguments, or they were not given to the log.
	ArgumentHash string `json:"argumentHash,omitempty"`
	// Arguments are the arguments. The recorder of an event gives all of them; those
	// that come out are JSON without secrets of known forms, and only there if
	// [Options].KeepArguments says so.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Detail holds what is special of a kind.
	Detail map[string]string `json:"detail,omitempty"`
}
