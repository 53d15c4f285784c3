package registry

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A phase is the state of a call that needs approval. Its text says why a call can no longer
// be approved.
type phase string

const (
	waits    phase = "" // for an answer
	runs     phase = "it was approved and is being made"
	done     phase = "it was approved and made" // res and err tell
	refused  phase = "it was refused"
	expired  phase = "no answer came in time"
	over     phase = "the conversation has ended"
	stale    phase = "the tool has changed, or the call is not allowed any more"
	repeated phase = "it was approved when the call was made again, and is not made twice" // see [WithAsk]
)

// A callKey tells calls apart. Models repeat themselves: a call that waits already
// is not put before the user a second time.
type callKey struct {
	grantKey
	args [sha256.Size]byte
}

func callKeyOf(ctx context.Context, e *entry, args json.RawMessage) callKey {
	return callKey{grantOf(ctx, e), sha256.Sum256(args)}
}

// A pending is a call that needs approval. All fields but those below
// mu are set once.
type pending struct {
	req    ApprovalRequest // Args are the call's own and not shared
	key    callKey
	server string        // whose tool it is; empty: a native one
	parent string        // what the call is a part of, see [WithCallID]
	whole  bool          // its result goes to a program, see [result.WithWhole]
	shows  bool          // the caller shows apps, or is one
	app    bool          // it is an app of the server
	ended  chan struct{} // closed when the outcome is set

	// The following need the lock of the approvals, except that the outcome may be
	// read once ended is closed.
	phase   phase
	dropped bool // the conversation ended while it was running
	memory  int  // what is accounted for: the call or, in ended, its outcome
	outcome outcome
	kept    time.Time // until when the outcome is kept
}

// An outcome is what came of a call.
type outcome struct {
	res    *mcp.CallToolResult
	err    error
	memory int // about how many bytes it takes
}

// newOutcome returns what comes of a call, to be kept.
func newOutcome(res *mcp.CallToolResult, err error) (o outcome) {
	o = outcome{detached(res), err, maxKept + 1}
	defer func() { _ = recover() }() // of a native tool's own types: too large to be kept
	o.memory = memoryOfResult(res) + memoryOfError(err)
	return o
}

// callOverhead is what a call takes in memory beside what it holds, while it waits and
// when its outcome is kept.
const callOverhead = 1 << 10

// texts returns how long the names are that are kept with a call.
func (p *pending) texts() int {
	return len(p.key.owner) + len(p.key.conversation) + len(p.key.tool) + len(p.req.CallID) + len(p.parent)
}

// owner returns whose outcome it is.
func (p *pending) owner() share.Owner {
	return share.Owner{User: p.key.owner, Server: p.server}
}

// hold keeps a call until it is approved or denied.
func (a *approvals) hold(ctx context.Context, e *entry, args json.RawMessage, reason string) error {
	req := requestOf(ctx, e, args)
	key := callKeyOf(ctx, e, args)

	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.expire(now)
	if p := a.byCall[key]; p != nil {
		if p.req.Subject == req.Subject || p.phase == runs {
			return &ApprovalRequiredError{p.req.copy()}
		}
		a.end(p, stale, newOutcome(nil, &approval.StaleError{Tool: p.req.Tool.Name}))
	}
	if req.ID = rand.Text(); a.opts.Replica != "" {
		req.ID = a.opts.Replica + "-" + req.ID
	}
	req.Reason = reason
	req.Asked = now
	req.Expires = now.Add(a.opts.TTL)
	_, isApp := onbehalf.AppOf(ctx)
	p := &pending{
		req: *req, key: key, server: e.def.Origin.Server,
		parent: onbehalf.CallOf(ctx).Parent, whole: result.IsWhole(ctx), shows: onbehalf.ShowsApps(ctx), app: isApp, ended: make(chan struct{}),
	}
	p.memory = callOverhead + p.texts() + len(args) + len(reason) + e.def.memory()
	if err := a.admit(p); err != nil {
		return err
	}
	a.waiting = append(a.waiting, p)
	a.byID[req.ID] = p
	a.byCall[key] = p
	a.announce()
	return &ApprovalRequiredError{p.req.copy()}
}

// admit accounts for a call that is to wait, unless there is no room for it. It needs
// the lock.
func (a *approvals) admit(p *pending) error {
	const quarter = 4
	user := share.Owner{User: p.key.owner}
	a.held.Add(user, p.memory)
	whose, most := "the calls of all users", a.held.Max
	switch {
	case a.held.Exceeds(user, quarter):
		whose, most = "the calls of this user", a.held.Share(quarter)
	case !a.held.Full():
		return nil
	}
	a.held.Remove(user, p.memory)
	reason := fmt.Sprintf("%s that wait for approval leave no room for this one (at most %d calls and %d MiB); approve or refuse some of them first, or give it smaller arguments", whose, most.Count, most.Bytes>>20)
	return &approval.DeniedError{Tool: p.req.Tool.Name, Reason: reason}
}

// seen returns the call of that id, if the owner of ctx may know of it: the call is the
// owner's, or ctx has none. It needs the lock.
func (a *approvals) seen(ctx context.Context, id string) (*pending, error) {
	a.expire(time.Now())
	p := a.byID[id]
	if owner := onbehalf.Owner(ctx); p == nil || owner != "" && owner != p.key.owner {
		return nil, &approval.UnknownError{ID: id}
	}
	return p, nil
}

// claim takes a call that waits, for the first caller, which ends it or gives it back.
func (a *approvals) claim(ctx context.Context, id string) (p *pending, since uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err = a.seen(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if p.phase != waits {
		return nil, 0, &approval.UnknownError{ID: id, Reason: string(p.phase)}
	}
	p.phase = runs
	a.announce()
	return p, a.grants.forgotten, nil
}

// giveBack lets a call that was claimed, and did not run, wait again.
func (a *approvals) giveBack(p *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.phase = waits
	if p.dropped {
		a.end(p, over, p.denied(string(over)))
		return
	}
	a.expire(time.Now())
	a.announce()
}

// finish ends a call that was claimed.
func (a *approvals) finish(p *pending, how phase, res *mcp.CallToolResult, err error) {
	o := newOutcome(res, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(p, how, o)
}

// refuse ends a call that waits and was denied.
func (a *approvals) refuse(ctx context.Context, id, reason string, seen *Observation) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.seen(ctx, id)
	if err != nil {
		return err
	}
	if p.phase != waits {
		return &approval.UnknownError{ID: id, Reason: string(p.phase)}
	}
	seen.setPending(p)
	text := "the user refused it"
	if reason != "" {
		text += ": " + reason
	}
	a.end(p, refused, p.denied(text))
	return nil
}

func (p *pending) denied(reason string) outcome {
	return newOutcome(nil, &approval.DeniedError{Tool: p.key.tool, Reason: reason})
}

// expire drops what is past its time. It needs the lock.
func (a *approvals) expire(now time.Time) {
	for _, p := range slices.Clone(a.waiting) {
		if now.Before(p.req.Expires) {
			break
		}
		if p.phase == waits { // one that runs is not dropped
			a.end(p, expired, p.denied("it was not approved in time"))
		}
	}
	for len(a.ended) > 0 && !now.Before(a.ended[0].kept) {
		a.drop(a.ended[0])
	}
}

// maxKept bounds the calls that wait, and the outcomes that are kept for
// [Registry.Await], each together and in bytes of memory.
const maxKept = 64 << 20

// end gives a call its outcome and keeps that for a while. It needs the lock.
func (a *approvals) end(p *pending, how phase, o outcome) {
	a.waiting = without(a.waiting, p)
	delete(a.byCall, p.key)
	a.held.Remove(share.Owner{User: p.key.owner}, p.memory)
	// It is over; the outcome is all that is wanted.
	p.req.Args, p.req.Tool, p.req.Reason = nil, nil, ""
	p.phase, p.outcome = how, o
	p.kept = time.Now().Add(a.opts.TTL)
	p.memory = callOverhead + p.texts() + o.memory
	a.ended = append(a.ended, p)
	a.kept.Add(p.owner(), p.memory)
	close(p.ended)
	a.announce()
	for a.kept.Full() {
		a.drop(share.First(&a.kept, a.outcomes))
	}
}

// outcomes yields the calls whose outcomes are kept, the oldest first. It needs the
// lock.
func (a *approvals) outcomes(yield func(*pending, share.Owner) bool) {
	for _, p := range a.ended {
		if !yield(p, p.owner()) {
			return
		}
	}
}

// drop forgets an outcome. A caller that waits for it already still gets it. It needs the
// lock.
func (a *approvals) drop(p *pending) {
	a.ended = without(a.ended, p)
	a.kept.Remove(p.owner(), p.memory)
	delete(a.byID, p.req.ID)
}

func without(list []*pending, p *pending) []*pending {
	return slices.DeleteFunc(list, func(other *pending) bool { return other == p })
}

// announce wakes those who watch. It needs the lock.
func (a *approvals) announce() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// How much memory something takes is estimated, rather as more than as less.

// memoryOfResult returns about how many bytes a result takes: its texts and bytes, and 64
// times what is left as JSON, for so much a decoded _meta can take. It panics for holes.
func memoryOfResult(res *mcp.CallToolResult) int {
	if res == nil {
		return 0
	}
	total, rest := 0, *res
	rest.Content = make([]mcp.Content, len(res.Content))
	for i, block := range res.Content {
		switch c := block.(type) {
		case *mcp.TextContent:
			b := *c
			total, b.Text, block = total+len(b.Text), "", &b
		case *mcp.ImageContent:
			b := *c
			total, b.Data, block = total+len(b.Data), nil, &b
		case *mcp.AudioContent:
			b := *c
			total, b.Data, block = total+len(b.Data), nil, &b
		case *mcp.EmbeddedResource:
			b, r := *c, *c.Resource
			total += len(r.Text) + len(r.Blob)
			r.Text, r.Blob, b.Resource, block = "", nil, &r, &b
		}
		rest.Content[i] = block
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		total, rest.StructuredContent = total+len(raw), nil
	}
	data, err := json.Marshal(&rest)
	if err != nil {
		return maxKept + 1
	}
	return total + 64*len(data)
}

// memory returns about how many bytes a definition takes.
func (d *Definition) memory() int {
	total := len(d.called()) + len(d.Title) + len(d.Description) + len(d.InputSchema) + len(d.OutputSchema) + len(d.RawAnnotations) + len(d.Raw)
	if d.served != nil {
		total += d.served.memory()
	}
	return total
}

// memoryOfError returns about how many bytes an error takes, as far as that can be
// known: those that hold what a server sent are.
func memoryOfError(err error) int {
	if err == nil {
		return 0
	}
	total := 512 + len(err.Error()) // what it takes beside what it holds, and its text
	if answered, _ := errors.AsType[*mcp.JSONRPCError](err); answered != nil {
		total += len(answered.Message) + len(answered.Data)
	}
	if output, _ := errors.AsType[*mcp.OutputError](err); output != nil {
		total += memoryOfResult(output.Result)
	}
	if unusable, _ := errors.AsType[*ResultError](err); unusable != nil {
		total += memoryOfResult(unusable.Result)
	}
	if panicked, _ := errors.AsType[*PanicError](err); panicked != nil {
		total += len(panicked.Stack)
	}
	return total
}

// detached returns a copy of a result, which shares its blocks, has no raw form, and does
// not keep the whole message alive that it came in.
func detached(res *mcp.CallToolResult) *mcp.CallToolResult {
	res = shared(res).CheckRaw(func(json.RawMessage) bool { return false })
	if res != nil {
		if raw, ok := res.StructuredContent.(json.RawMessage); ok {
			res.StructuredContent = json.RawMessage(bytes.Clone(raw))
		}
	}
	return res
}
