package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
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

// Observe makes observers see the outcome of every later [Registry.Call], of calls
// that are not made too, and of every [Registry.Approve] and [Registry.Deny], in
// the order in which they were added. An observer cannot change what it sees; for
// that there is [Registry.Use]. Calls that wait for approval until it is too late
// are not observed again. Nil is skipped. After stop no call that begins is told to
// observer; further calls of stop do nothing. Without observers this costs nothing.
func (r *Registry) Observe(observer Observer) (stop func()) {
	if observer == nil {
		return func() {}
	}
	return r.observers.add(observer)
}

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

// observed does something and tells the observers of it, if there are any. Do fills in what it
// finds out.
func (r *Registry) observed(ctx context.Context, o *Observation, do func(context.Context, *Observation) (*mcp.CallToolResult, error)) (res *mcp.CallToolResult, err error) {
	observers := r.observers.all()
	if len(observers) == 0 {
		return do(ctx, o)
	}
	var seen redactions
	o.Began = time.Now()
	err = errors.New("the call was broken off by a panic") // unless there is none
	defer func() {
		o.Duration = time.Since(o.Began)
		o.Err = err
		o.RedactedArguments, o.RedactedResult = seen.arguments.Load(), seen.result.Load()
		if err == nil && res != nil {
			o.ResultBytes, o.IsError = sizeOf(res), res.IsError
		}
		if asks, ok := errors.AsType[*ApprovalRequiredError](err); ok && o.Kind == Called && asks.Request != nil {
			o.Approval = asks.Request.ID
		}
		if o.Tool == nil && o.Name != "" { // held back, or denied
			if e := r.snapshot.Load().lookup(o.Name); e != nil {
				o.Tool = e.def
			}
		}
		if o.Kind != Called && o.CallID != "" {
			ctx = onbehalf.WithCall(ctx, onbehalf.Call{ID: o.CallID, Parent: o.parent})
		}
		for _, observer := range observers {
			own := *o
			own.Arguments = bytes.Clone(o.Arguments)
			tell(ctx, *observer, &own)
		}
	}()
	return do(context.WithValue(ctx, redactionsKey{}, &seen), o)
}

// redactions are what secrets were taken out of in the course of a call, for its observers.
type redactions struct{ arguments, result atomic.Bool }

type redactionsKey struct{}

// redactionsOf returns where to note them.
func redactionsOf(ctx context.Context) *redactions {
	if seen, ok := ctx.Value(redactionsKey{}).(*redactions); ok {
		return seen
	}
	return new(redactions)
}

// tell tells one observer.
func tell(ctx context.Context, observer Observer, o *Observation) {
	defer func() { _ = recover() }() // the call is over: nothing of it may be lost
	observer(ctx, o)
}

// setPending notes which call it is that was waiting.
func (o *Observation) setPending(p *pending) {
	o.Name, o.Tool, o.Arguments = p.req.Tool.Name, p.req.Tool, p.req.Args
	o.User, o.Conversation = p.req.User, p.req.Conversation
	o.CallID, o.parent = p.req.CallID, p.parent
}

// sizeOf returns about how much content a result holds, in bytes.
func sizeOf(res *mcp.CallToolResult) int {
	n := 0
	for _, p := range result.Pieces(res) {
		if p.Data == nil {
			n += len(p.Text)
		}
		n += len(p.Data)
	}
	return n
}
