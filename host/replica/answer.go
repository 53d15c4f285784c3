package replica

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/storage"
)

// An answer is a record for the member that holds a call. Who gives it writes it first; then the
// member alone does, unless it was deleted before.
type answer struct {
	Call            string        `json:"call"` // its ID
	Approve         bool          `json:"approve"`
	ForConversation bool          `json:"forConversation,omitempty"`
	Reason          string        `json:"reason,omitempty"` // of a denial
	User            string        `json:"user,omitempty"`   // who answers; empty: no user is named
	Within          time.Duration `json:"within,omitempty"` // for what the call may take; 0: no limit of its own
	// TakeBack is what the member has to forget, in place of a call: takeConversation, that of User, or
	// takeGrants, those of User or all.
	TakeBack     string   `json:"takeBack,omitempty"`
	Conversation string   `json:"conversation,omitempty"`
	Taken        bool     `json:"taken,omitempty"` // the call ends with it
	Outcome      *outcome `json:"outcome,omitempty"`

	over time.Time // when the outcome was written
}

// answerName returns the name of a new answer for a member.
func answerName(member string) string {
	return answerPrefix + member + "-" + strings.ToLower(rand.Text())
}

// takeAnswers takes the answers to calls that wait here.
func (m *Member) takeAnswers(ctx context.Context) error {
	for name, err := range m.store.Names(ctx, answerPrefix+m.id+"-") {
		if err != nil {
			return err
		}
		m.mu.Lock()
		known := m.taken[name] != nil
		m.mu.Unlock()
		if known {
			continue
		}
		a, at, err := load[answer](ctx, m, name)
		if err == nil && !a.Taken { // else it was saved before with an error
			a.Taken = true
			at, err = m.save(ctx, name, &a, at) // fails if it was taken back
		}
		if isMoot(err) {
			continue
		}
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.taken[name] = &a
		leaving := m.leaving
		if !leaving {
			m.running.Add(1)
		}
		m.mu.Unlock()
		if leaving && a.TakeBack == "" {
			continue
		}
		m.tasks.Go(func() {
			if !leaving {
				defer m.running.Done()
			}
			m.obey(name, &a, at)
		})
	}
	return nil
}

// obey does what an answer says, and writes what came of it.
func (m *Member) obey(name string, a *answer, at storage.Revision) {
	ctx := m.ctx
	if a.User != "" {
		ctx = onbehalf.With(ctx, a.User)
	}
	if a.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.Within)
		defer cancel()
	}
	var res *mcp.CallToolResult
	var err error
	switch {
	case a.TakeBack != "":
		err = m.forget(ctx, a)
	case a.Approve:
		res, err = m.attached().Approve(ctx, a.Call, &registry.ApproveOptions{ForConversation: a.ForConversation})
	default:
		err = m.attached().Deny(ctx, a.Call, a.Reason)
	}
	a.Outcome = outcomeOf(res, err)
	m.insist(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), beatEvery)
		defer cancel()
		_, err := m.save(ctx, name, a, at)
		return err
	})
	m.mu.Lock()
	a.over = time.Now()
	m.mu.Unlock()
}

// Approve is [registry.Registry.Approve] for a call that waits on any replica. The replica on which it
// waits makes the call, within the deadline of ctx if there is one. If ctx ends before that
// replica has taken the answer, the call goes on waiting; after that the outcome is unknown here,
// [Member.Await] tells it. If the replica has died the error says so, and what is known of the call. What
// ForConversation allows, it allows on that replica alone, unless its registry has a [Member.Approver].
func (m *Member) Approve(ctx context.Context, id string, opts *registry.ApproveOptions) (*mcp.CallToolResult, error) {
	if m.isHere(id) {
		return m.attached().Approve(ctx, id, opts)
	}
	a := &answer{Call: id, Approve: true, ForConversation: opts != nil && opts.ForConversation}
	if deadline, ok := ctx.Deadline(); ok {
		a.Within = time.Until(deadline)
	}
	return m.tell(ctx, a)
}

// Deny is [registry.Registry.Deny] for a call that waits on any replica.
func (m *Member) Deny(ctx context.Context, id, reason string) error {
	if m.isHere(id) {
		return m.attached().Deny(ctx, id, reason)
	}
	_, err := m.tell(ctx, &answer{Call: id, Reason: reason})
	return err
}

// isHere reports whether a call waits, or has waited, in the registry of this member.
func (m *Member) isHere(id string) bool {
	return strings.HasPrefix(id, m.id+"-") && m.attached() != nil
}

// find returns the record of a call that the user of ctx may know of, and is held by a member
// that is there.
func (m *Member) find(ctx context.Context, id string) (*call, error) {
	name := callName(id)
	if storage.CheckName(name) != nil {
		return nil, &approval.UnknownError{ID: id}
	}
	c, _, err := load[call](ctx, m, name)
	owner := onbehalf.Owner(ctx)
	switch {
	case isMoot(err):
		return nil, &approval.UnknownError{ID: id}
	case err != nil:
		return nil, mcp.WithOutcome(storeError(err), mcp.NotSent)
	case c.Request == nil || c.Request.ID != id || !c.isFor(owner):
		return nil, &approval.UnknownError{ID: id}
	}
	if !m.isAlive(c.Member) && c.Outcome == nil {
		if err := m.look(ctx); err != nil {
			return nil, mcp.WithOutcome(storeError(err), mcp.NotSent)
		}
	}
	return &c, nil
}

// gone says that the program on which a call waited has ended.
const gone = "the program on which it waited has ended"

// tell gives an answer to the member that holds its call, and returns what came of it.
func (m *Member) tell(ctx context.Context, a *answer) (*mcp.CallToolResult, error) {
	if m.ctx.Err() != nil {
		return nil, mcp.WithOutcome(errClosed, mcp.NotSent)
	}
	c, err := m.find(ctx, a.Call)
	switch {
	case err != nil:
		return nil, err
	case c.Outcome != nil:
		return nil, &approval.UnknownError{ID: a.Call, Reason: "it was answered already"}
	case !m.isAlive(c.Member):
		return nil, &approval.UnknownError{ID: a.Call, Reason: gone}
	}
	a.User, _ = onbehalf.User(ctx)
	name := answerName(c.Member)
	if _, err := m.save(ctx, name, a, ""); err != nil {
		_ = m.withdraw(ctx, name) // it may have been saved all the same
		return nil, mcp.WithOutcome(storeError(err), mcp.NotSent)
	}
	o, err := m.outcome(ctx, c.Member, name)
	switch {
	case err == nil:
		return o.result()
	case errors.Is(err, errGone):
		err = &approval.UnknownError{ID: a.Call, Reason: gone}
	case ctx.Err() != nil:
		err = fmt.Errorf("tool %s: waiting for the program on which the call waits: %w", c.Request.Tool.Name, err)
	}
	if m.withdraw(ctx, name) {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if a, _, loaded := load[answer](context.WithoutCancel(ctx), m, name); loaded == nil && a.Outcome != nil {
		_ = m.remove(context.WithoutCancel(ctx), name)
		return a.Outcome.result()
	}
	return nil, unknown(err)
}

// errGone says that a member is not there any more.
var errGone = errors.New("replica: another replica has died")

// outcome waits for what comes of an answer that a member was given, and takes it.
func (m *Member) outcome(ctx context.Context, member, name string) (*outcome, error) {
	var at storage.Revision
	for wait := m.opts.Every / 20; ; wait = min(2*wait, m.opts.Every) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.ctx.Done():
			return nil, errClosed
		}
		if !m.isAlive(member) {
			return nil, errGone
		}
		r, err := m.store.Load(ctx, name, at)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return nil, err
		case err != nil || r.Revision == at:
			continue // the store is away, or nothing has come
		}
		at = r.Revision
		var a answer
		if json.Unmarshal(r.Data, &a) == nil && a.Outcome != nil {
			_ = m.remove(ctx, name)
			return a.Outcome, nil
		}
	}
}

// unknown says of an error that the call may have been made.
func unknown(err error) error {
	return mcp.WithOutcome(fmt.Errorf("%w; it is not known whether the call was made", err), mcp.Unknown)
}

// withdraw takes an answer back, and reports whether it was not taken.
func (m *Member) withdraw(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
	defer cancel()
	a, at, err := load[answer](ctx, m, name)
	if err != nil {
		return errors.Is(err, storage.ErrNotFound)
	}
	return !a.Taken && m.store.Delete(ctx, name, at) == nil
}

// Await is [registry.Registry.Await] for a call that waits on any replica. If that replica has died, the
// outcome is unknown.
func (m *Member) Await(ctx context.Context, id string) (*mcp.CallToolResult, error) {
	if m.isHere(id) {
		return m.attached().Await(ctx, id)
	}
	for {
		c, err := m.find(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case c.Outcome != nil:
			return c.Outcome.result()
		case !m.isAlive(c.Member):
			return nil, unknown(&approval.UnknownError{ID: id, Reason: gone})
		}
		select {
		case <-time.After(m.opts.Every):
		case <-ctx.Done():
			return nil, fmt.Errorf("tool %s: waiting for approval: %w", c.Request.Tool.Name, ctx.Err())
		case <-m.ctx.Done():
			return nil, errClosed
		}
	}
}
