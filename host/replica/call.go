package replica

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A call is the record of one that waits for approval. Only its member writes it.
type call struct {
	Member  string                    `json:"member"`
	Request *registry.ApprovalRequest `json:"request"`
	Outcome *outcome                  `json:"outcome,omitempty"` // nil: it waits, or is being made
	Until   time.Time                 `json:"until,omitzero"`    // when the outcome may go
}

// callName returns the name of the record of a call.
func callName(id string) string { return callPrefix + strings.ToLower(id) }

// publish makes records of the calls that wait here.
func (m *Member) publish(ctx context.Context) error {
	r := m.attached()
	if r == nil {
		return nil
	}
	for _, req := range r.Approvals(ctx) {
		m.mu.Lock()
		_, known := m.shown[req.ID]
		m.mu.Unlock()
		if known {
			continue
		}
		c := &call{Member: m.id, Request: req}
		at, err := m.save(ctx, callName(req.ID), c, "")
		if errors.Is(err, storage.ErrConflict) {
			_, at, err = load[call](ctx, m, callName(req.ID)) // it was saved before with an error
		}
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.shown[req.ID] = false
		m.mu.Unlock()
		m.tasks.Go(func() { m.follow(r, c, at) })
	}
	return nil
}

// follow puts what comes of a call into its record, which has the revision at.
func (m *Member) follow(r *registry.Registry, c *call, at storage.Revision) {
	id := c.Request.ID
	res, err := r.Await(m.ctx, id)
	if m.ctx.Err() != nil {
		return
	}
	c.Outcome, c.Until = outcomeOf(res, err), time.Now().Add(keepFor)
	c.Request.Args = nil // they are not wanted any more
	m.insist(func() error {
		_, err := m.save(m.ctx, callName(id), c, at)
		return err
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown[id] = true
}

// insist does something until the store does not fail, or another one was faster, or the member is
// closed.
func (m *Member) insist(do func() error) {
	for {
		if err := do(); err == nil || errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrTooLarge) {
			return
		}
		if feed.Sleep(m.ctx, m.opts.Every) != nil {
			return
		}
	}
}

// Approvals returns the calls that wait for approval on all replicas, the oldest first: those
// of the user of ctx, as by session.WithUser, or all if ctx names no user. Those of other
// replicas come from the store, which may be a second behind.
func (m *Member) Approvals(ctx context.Context) ([]*registry.ApprovalRequest, error) {
	var list []*registry.ApprovalRequest
	if r := m.attached(); r != nil {
		list = r.Approvals(ctx)
	}
	owner := onbehalf.Owner(ctx)
	err := m.look(ctx)
	if err == nil {
		over := map[string]bool{}
		m.mu.Lock()
		known := m.over
		m.mu.Unlock()
		err = m.calls(ctx, func(name, member string) bool {
			over[name] = known[name]
			return !known[name] && member != m.id && m.isAlive(member)
		}, func(name string, c *call) error {
			over[name] = c.Outcome != nil
			if c.Member != m.id && c.Outcome == nil && c.isFor(owner) && time.Now().Before(c.Request.Expires) {
				list = append(list, c.Request)
			}
			return nil
		})
		if err == nil {
			m.mu.Lock()
			m.over = over
			m.mu.Unlock()
		}
	}
	if err != nil {
		return nil, storeError(err)
	}
	slices.SortStableFunc(list, func(a, b *registry.ApprovalRequest) int { return a.Asked.Compare(b.Asked) })
	return list, nil
}

// calls calls do with each record of a call, or with those that are wanted: the id of a call begins with its member.
func (m *Member) calls(ctx context.Context, wanted func(name, member string) bool, do func(name string, c *call) error) error {
	for name, err := range m.store.Names(ctx, callPrefix) {
		if err != nil {
			return err
		}
		member, _, _ := strings.Cut(strings.TrimPrefix(name, callPrefix), "-")
		if wanted != nil && !wanted(name, member) {
			continue
		}
		c, _, err := load[call](ctx, m, name)
		if isMoot(err) || c.Request == nil {
			continue
		}
		if err == nil {
			err = do(name, &c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isFor reports whether a user may know of the call; empty: no user is named.
func (c *call) isFor(user string) bool { return user == "" || user == c.Request.User }
