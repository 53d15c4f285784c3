package registry

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A phase is where a call that somebody was asked about stands.
type phase int

const (
	waits   phase = iota // for an answer
	runs                 // it was approved and is being made
	done                 // it was made: res and err tell
	refused              // somebody said no
	expired              // nobody answered in time
	over                 // the conversation ended
	stale                // the tool or the policy changed before it was made
)

// reason says why a call can no longer be approved.
func (p phase) reason() string {
	switch p {
	case runs:
		return "it was approved and is being made"
	case done:
		return "it was approved and made"
	case refused:
		return "it was refused"
	case expired:
		return "nobody answered in time"
	case over:
		return "the conversation has ended"
	case stale:
		return "the tool has changed, or the call is not allowed any more"
	}
	return ""
}

// A callKey tells calls apart. Models repeat themselves: a call that waits already
// is not put before the user a second time.
type callKey struct {
	user, conversation string
	tool               string // its name in the catalogue
	args               [sha256.Size]byte
}

// A pending is a call that somebody was asked about. All fields but those below
// mu are set once.
type pending struct {
	req     ApprovalRequest // Args are the call's own: nobody else has these bytes
	key     callKey
	subject subject
	parent  string        // what the call is a part of, see [WithCallID]
	ended   chan struct{} // closed when res and err are set

	// The following need the lock of the approvals, except that res and err may
	// be read once ended is closed.
	phase   phase
	dropped bool          // the conversation ended while it was running
	at      *list.Element // in waiting or ended; nil if it is in neither
	res     *mcp.CallToolResult
	err     error
	kept    time.Time // until when the outcome is kept
	weight  int       // of res
}

// hold keeps a call until somebody answers.
func (a *approvals) hold(ctx context.Context, e *entry, args json.RawMessage, reason string) error {
	req := requestOf(ctx, e, args)
	key := callKey{req.User, req.Conversation, e.def.Name, sha256.Sum256(args)}
	subject := subjectOf(e)

	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.expire(now)
	watched := a.watchers[""] > 0 || a.watchers[req.User] > 0
	if p := a.byCall[key]; p != nil {
		if p.subject.same(subject) || p.phase == runs {
			return &ApprovalRequiredError{p.req.copy(), watched}
		}
		a.end(p, stale, nil, &StaleApprovalError{Tool: p.req.Tool.Name})
	}
	if most := a.opts.MaxPending; a.waiting.Len() >= most {
		return &DeniedError{Tool: e.def.Name, Reason: fmt.Sprintf("too many calls wait for approval (at most %d); they must be answered first", most)}
	} else if most = max(1, most/4); req.User != "" && a.perUser[req.User] >= most {
		return &DeniedError{Tool: e.def.Name, Reason: fmt.Sprintf("too many calls of this user wait for approval (at most %d); they must be answered first", most)}
	} else if a.held+len(args) > maxKept {
		return &DeniedError{Tool: e.def.Name, Reason: "the calls that wait for approval are too large together; they must be answered first"}
	}
	req.ID = rand.Text()
	req.Reason = reason
	req.Asked = now
	req.Expires = now.Add(a.opts.TTL)
	p := &pending{req: *req, key: key, subject: subject, parent: onbehalf.CallOf(ctx).Parent, ended: make(chan struct{})}
	p.at = a.waiting.PushBack(p)
	a.byID[req.ID] = p
	a.byCall[key] = p
	a.perUser[req.User]++
	a.held += len(args)
	a.announce()
	return &ApprovalRequiredError{p.req.copy(), watched}
}

// seen returns the call of that id, if the user of ctx may know of it: he is the
// one it was asked for, or ctx names nobody. It needs the lock.
func (a *approvals) seen(ctx context.Context, id string) (*pending, error) {
	a.expire(time.Now())
	p := a.byID[id]
	if user := userOf(ctx); p == nil || user != "" && user != p.req.User {
		return nil, &UnknownApprovalError{ID: id}
	}
	return p, nil
}

// claim takes a call that waits, for whoever is the first. It is his to end it or
// to give it back.
func (a *approvals) claim(ctx context.Context, id string) (p *pending, since uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err = a.seen(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if p.phase != waits {
		return nil, 0, &UnknownApprovalError{ID: id, Reason: p.phase.reason()}
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
		a.end(p, over, nil, p.denied("the conversation has ended"))
		return
	}
	a.expire(time.Now())
	a.announce()
}

// finish ends a call that was claimed.
func (a *approvals) finish(p *pending, how phase, res *mcp.CallToolResult, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(p, how, res, err)
}

// refuse ends a call that waits, because somebody said no. Seen may be nil.
func (a *approvals) refuse(ctx context.Context, id, reason string, seen *Observation) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.seen(ctx, id)
	if err != nil {
		return err
	}
	if p.phase != waits {
		return &UnknownApprovalError{ID: id, Reason: p.phase.reason()}
	}
	seen.waited(p)
	text := "the user refused it"
	if reason != "" {
		text += ": " + reason
	}
	a.end(p, refused, nil, p.denied(text))
	return nil
}

func (a *approvals) endConversation(user, conversation string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grants.forget(func(key grantKey) bool { return key.user == user && key.conversation == conversation })
	for _, p := range a.byID {
		switch {
		case p.key.user != user || p.key.conversation != conversation:
		case p.phase == waits:
			a.end(p, over, nil, p.denied("the conversation has ended"))
		case p.phase == runs:
			p.dropped = true
		}
	}
}

func (p *pending) denied(reason string) error {
	return &DeniedError{Tool: p.req.Tool.Name, Reason: reason}
}

// expire drops what is past its time. It needs the lock.
func (a *approvals) expire(now time.Time) {
	for at := a.waiting.Front(); at != nil; {
		p := at.Value.(*pending)
		at = at.Next()
		if now.Before(p.req.Expires) {
			break
		}
		if p.phase == waits { // one that runs is not dropped
			a.end(p, expired, nil, p.denied("nobody approved it in time"))
		}
	}
	for at := a.ended.Front(); at != nil && !now.Before(at.Value.(*pending).kept); at = a.ended.Front() {
		a.drop(at.Value.(*pending))
	}
}

// maxKept bounds the arguments of calls that wait, and the outcomes that are kept
// for [Registry.Await], each together and in bytes.
const maxKept = 64 << 20

// end gives a call its outcome and keeps that for a while. It needs the lock.
func (a *approvals) end(p *pending, how phase, res *mcp.CallToolResult, err error) {
	a.waiting.Remove(p.at)
	delete(a.byCall, p.key)
	if a.perUser[p.key.user]--; a.perUser[p.key.user] == 0 {
		delete(a.perUser, p.key.user)
	}
	p.phase, p.res, p.err = how, res, err
	p.kept = time.Now().Add(a.opts.TTL)
	p.weight = weightOf(res)
	a.held -= len(p.req.Args)
	p.req.Args = nil // it is over; the outcome is all that is wanted
	p.at = a.ended.PushBack(p)
	a.weight += p.weight
	close(p.ended)
	a.announce()
	for a.ended.Len() > a.opts.MaxPending || a.weight > maxKept {
		a.drop(a.ended.Front().Value.(*pending))
	}
}

// drop forgets an outcome. Who waits for it already still gets it. It needs the
// lock.
func (a *approvals) drop(p *pending) {
	a.ended.Remove(p.at)
	a.weight -= p.weight
	delete(a.byID, p.req.ID)
}

// announce wakes those who watch. It needs the lock.
func (a *approvals) announce() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// weightOf returns about how many bytes a result holds.
func weightOf(res *mcp.CallToolResult) int {
	if res == nil {
		return 0
	}
	n := 0
	for _, block := range res.Content {
		switch b := block.(type) {
		case *mcp.TextContent:
			n += len(b.Text)
		case *mcp.ImageContent:
			n += len(b.Data)
		case *mcp.AudioContent:
			n += len(b.Data)
		case *mcp.EmbeddedResource:
			if b.Resource != nil {
				n += len(b.Resource.Text) + len(b.Resource.Blob)
			}
		}
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		n += len(raw)
	}
	return n
}
