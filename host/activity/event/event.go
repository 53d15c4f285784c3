package event

import (
	"encoding/json"
	"time"
)

// An Event is one thing that happened. What [activity.Log.Record] has passed on holds valid
// UTF-8 within bounds, no secret of a known form, and a time. It may be shared:
// do not change Arguments and Detail then. Texts may be those of models and servers:
// show them as such.
//
// The words that a host writes are stable, programs may compare them for years; others
// may come, and a program may use its own. Detail has, where they apply:
//
//	events        how many events are missing here, of the kind "dropped"
//	name          the name under which a tool was called, if its server calls it otherwise
//	conversation  see registry.WithConversation
//	approval      equal for the events about one call that waited for approval
//	by            who did it, a user or a credential, where it was not User
//	reason        why a call was denied, as the one who denied it says
//	via           "call_tool" for a call by way of that tool
//	ran           whether a call that failed has run: "no", "yes" or "perhaps"
//	redacted      what secrets were taken out of on the way: "arguments", "result" or "both"
//	from, to      what has changed, of the kind "state"
//	source        file and line of a server's entry
//	change        what was done, such as "set" for the kind "config"
//	tools, count  the tools that are held back, as far as there is room, and how many they are
//
// [activity.Log.Record]: https://pkg.go.dev/github.com/mcpbelt/mcpbelt/host/activity#Log.Record
type Event struct {
	// Time is when it ended, in UTC.
	Time time.Time `json:"time"`
	// ID tells it from others. For a call it is that of registry.WithCallID, which is the
	// same for all events of the call and is as unique as its giver made it.
	ID string `json:"id"`
	// Parent is the ID of what it is a part of; empty if that was not said.
	Parent string `json:"parent,omitempty"`
	// Kind says what was done, or what happened:
	//
	//	call         a tool was called, with whatever outcome
	//	denied       a call was not allowed
	//	approval     a user was asked about a call, or answered
	//	quarantined  tools of a server wait for approval, or one of them was called
	//	rejected     tools of a server are not listed, as they could do harm
	//	login        a user logged in at a server, or is to
	//	logout       a user logged out at a server
	//	config       the configuration was changed
	//	start        a server was started
	//	stop         a server was stopped
	//	replace      a server was replaced by one that is configured otherwise
	//	state        the state of a server changed, such as to ready
	//	consent      a user decided whether a server may be started
	//	accept       a user accepted or rejected what is new or has changed at a server
	//	dropped      events are missing here
	Kind string `json:"kind"`
	// User is on whose behalf; empty: the program's, or not known.
	User string `json:"user,omitempty"`
	// Server is the name under which the server is configured; empty for what the
	// program has of itself, and for tools that do not exist.
	Server string `json:"server,omitempty"`
	// Tool is the name that the tool has at its server; for a tool that does not exist
	// the name that was asked for.
	Tool string `json:"tool,omitempty"`
	// Outcome says what became of it; empty for what has none:
	//
	//	ok              done
	//	tool_error      the tool ran, and its result says that it failed
	//	error           any other failure
	//	unknown_tool    no tool has that name
	//	bad_arguments   the tool does not take these arguments
	//	denied          not allowed, by policy or because no one could decide
	//	asked           it waits for approval
	//	approved        a user said yes
	//	refused         a user said no
	//	quarantined     the tool is new or has changed, and waits for approval
	//	unknown         it is not known whether it was done
	//	not_sent        the server was not reached
	//	cancelled       the caller has given up
	//	timeout         it took too long
	//	login_required  the user has to log in first
	//	busy            too many calls are under way at that server
	Outcome string `json:"outcome,omitempty"`
	// Error says why, in words, for people.
	Error string `json:"error,omitempty"`
	// Duration is how long it took; in JSON in nanoseconds.
	Duration time.Duration `json:"durationNs,omitempty"`
	// ArgumentBytes is how long the arguments were.
	ArgumentBytes int64 `json:"argumentBytes,omitempty"`
	// ResultBytes is about how much content came back.
	ResultBytes int64 `json:"resultBytes,omitempty"`
	// ArgumentHash is equal for equal arguments, however they are written, in one log:
	// "hmac-sha256:" and 64 hexadecimal digits. Empty: there were no arguments, or they were
	// not given to the log.
	ArgumentHash string `json:"argumentHash,omitempty"`
	// Arguments are the arguments. The recorder of an event gives all of them; those
	// that come out are JSON without secrets of known forms, and only there if
	// the log is to keep them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Detail holds what is special of a kind.
	Detail map[string]string `json:"detail,omitempty"`
}
