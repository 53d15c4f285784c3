package registry

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An ObservationKind says what was done.
type ObservationKind string

const (
	// Called: [Registry.Call], whether the call was made or not.
	Called ObservationKind = "call"
	// Approved: [Registry.Approve], whether the call was made or not.
	Approved ObservationKind = "approve"
	// Denied: [Registry.Deny].
	Denied ObservationKind = "deny"
)

// An Observation is what became of one call. It is a copy: nothing that is done to
// it changes the call or its result. Tool is shared and must not be changed.
type Observation struct {
	// Kind is what was done.
	Kind ObservationKind
	// Name is the name of the tool as it was asked for, which may be that of no tool
	// at all, and any text. For a call of call_tool it is the name that call_tool was
	// given. For Approved and Denied it is empty if no such call waits.
	Name string
	// Relayed says that the call was made by way of call_tool.
	Relayed bool
	// Tool describes the tool that was meant; nil if there is none.
	Tool *Definition
	// User is on whose behalf the call was wanted; empty: none was named. The user of the
	// context is the one who approved or denied it.
	User string
	// Conversation is the one that the call belongs to, see [WithConversation].
	Conversation string
	// CallID is that of [WithCallID]. For Approved and Denied it is that of the call
	// which waited; the context of the [Observer] says so, too.
	CallID string
	// Mended are the parts of the call, as its model wrote them, that cannot go back to the
	// model's API, which would refuse the conversation from then on, and that package profile
	// sends back in another form: "id", "name", "arguments", in that order. Nil: none, or the
	// call is not one of a profile.Turn.
	Mended []string
	// Approval is the id of the call that waits for approval now, was approved or was
	// denied; empty: none. It may suffice to approve the call: keep it from others.
	Approval string
	// Arguments are the arguments as the tool got them before any middleware; as the
	// caller gave them, and perhaps no JSON, if they were not right; nil if they are
	// not known.
	Arguments json.RawMessage
	// Passed says that the call was let through to middleware and tool. The outcome is
	// theirs then; without it Err says why the call was not made.
	Passed bool
	// Began is when the call came in.
	Began time.Time
	// Duration is how long it took until its outcome was known.
	Duration time.Duration
	// ResultBytes is about how much content the result holds; 0 if there is none.
	ResultBytes int
	// RedactedArguments and RedactedResult say that secrets were taken out: of the arguments on
	// their way to the server, and of the result, see [Options].
	RedactedArguments, RedactedResult bool
	// IsError is that of the result.
	IsError bool
	// Err is the error of the call. What [Registry.Call] says of errors tells why.
	// If middleware or an [Approver] panics it is an error that says so, and the panic
	// goes on.
	Err error

	parent string // of the call that waited
}

// An Observer is told what became of a call, before the caller is. It is safe for
// concurrent use, must be quick, as the caller waits for it, and must not use the
// context for long: that of the caller, which may have ended. If it panics, that is
// swallowed: the call has been made.
type Observer func(ctx context.Context, o *Observation)

// callbacks are functions that the program has added. The zero value has none.
type callbacks[F any] struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*F]
}

// all returns the functions, in the order in which they were added.
func (c *callbacks[F]) all() []*F {
	if list := c.list.Load(); list != nil {
		return *list
	}
	return nil
}

// add adds a function until stop is called.
func (c *callbacks[F]) add(f F) (stop func()) {
	added := &f // to be told from others
	c.change(func(list []*F) []*F { return append(list, added) })
	return func() {
		c.change(func(list []*F) []*F { return slices.DeleteFunc(list, func(f *F) bool { return f == added }) })
	}
}

func (c *callbacks[F]) change(change func([]*F) []*F) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list.Store(new(change(slices.Clone(c.all()))))
}
