package registry

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

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
