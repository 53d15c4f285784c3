package replica

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	grantFor         = 24 * time.Hour  // after it was given a grant is not shared any more
	clockSkew        = time.Hour       // by which clocks may differ
	grantWithin      = 2 * time.Second // how long a call waits for the store
	maxGrants        = 100             // tools of one conversation
	maxConversations = 1000            // of one user, with grants
	digestLength     = 20              // bytes of a hash in a name
)

// A grants is the record of what a user has allowed in a conversation, by the names of the tools.
type grants map[string]grant

// A grant is a tool that was allowed for a session.
type grant struct {
	Subject string `json:"subject"` // see registry.ApprovalRequest
	Until   int64  `json:"until"`   // seconds since 1970, by the clock of the member that wrote it
}

// counts reports whether a grant has not ended. One that ends later than any can was written by a clock
// that is wrong, and does not count.
func (g grant) counts() bool {
	left := time.Until(time.Unix(g.Until, 0))
	return left > 0 && left <= grantFor+clockSkew
}

// Approver returns an approver for the options of the registry of this member that decides as next does, and shares
// what is allowed for the conversation of a user (see [registry.ApproveOptions]) with the other replicas: there next
// is asked with Approved set, as it is here, and its [approval.Ask] lets the call pass. A denial by next always wins. Of nil it
// returns nil, which allows all.
//
// Next is asked first. Only where it wants to ask, the store is read once, for at most 2 seconds: if that fails, the
// user is asked. A grant is shared for 24 hours by the clock of the replica on which it was given, so where clocks
// differ it ends earlier or later by as much, at most an hour later. A replica that has used it goes on with it after that, as a
// registry does by itself. It is for the same user, conversation and [registry.ApprovalRequest].Subject; the first
// replica on which the tool is another one takes it back, and so do [Member.EndConversation] and
// [Member.RevokeGrants]. Shared are at most 100 tools of a conversation, the newest, and 1,000 conversations of a user.
//
// An approver that asks a person by itself, and does not return [approval.Ask], asks on each replica.
func (m *Member) Approver(next registry.Approver) registry.Approver {
	if m == nil || nils.Is(next) {
		return next
	}
	s := sharing{m, next}
	if d, ok := next.(decider); ok {
		return &struct {
			sharing
			decider
		}{s, d}
	}
	return s
}

// A decider is an approver that knows before a call what it will not allow, such as a policy.Policy.
type decider interface {
	Decide(req *registry.ApprovalRequest) approval.Decision
}

type sharing struct {
	member *Member
	next   registry.Approver
}

// Approve implements registry.Approver.
func (s sharing) Approve(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
	if req == nil || req.Tool == nil {
		return s.next.Approve(ctx, req)
	}
	m, asked := s.member, *req
	m.mu.Lock()
	revoked := m.revoked
	m.mu.Unlock()
	d, err := s.next.Approve(ctx, req)
	if err != nil {
		return d, err
	}
	if d.Verdict == approval.Ask && !asked.Approved && m.isGranted(ctx, &asked) {
		asked.Approved = true
		d, err = s.next.Approve(ctx, &asked)
		if err == nil && d.Verdict == approval.Ask {
			d.Verdict = approval.AllowForConversation
		}
		return d, err
	}
	// A call that is approved and does not wait is made under a grant already.
	isNew := asked.ForConversation
	switch d.Verdict {
	case approval.Ask, approval.Allow:
	case approval.AllowForConversation:
		isNew = isNew || !asked.Approved || asked.ID != ""
	default:
		return d, nil
	}
	if isNew {
		if err := m.grant(ctx, &asked, revoked); err != nil && m.ctx.Err() == nil {
			m.logger.Warn("replica: what was allowed for a session is not shared", "tool", asked.Tool.Name, "error", err)
		}
	}
	return d, nil
}

// isGranted reports whether a call is of a tool that another member knows as allowed.
func (m *Member) isGranted(ctx context.Context, req *registry.ApprovalRequest) bool {
	ctx, cancel := context.WithTimeout(ctx, grantWithin)
	defer cancel()
	name, tool := m.grantName(cmp.Or(onbehalf.Owner(ctx), req.User), req.Conversation), req.Tool.Name
	held, _, err := load[grants](ctx, m, name)
	g, ok := held[tool]
	switch {
	case err != nil || !ok:
		return false
	case g.counts() && g.Subject == req.Subject && g.Subject != "":
		return true
	}
	// It does not come back with the tool as it was.
	_ = m.change(ctx, name, func(held grants) {
		maps.DeleteFunc(held, func(name string, now grant) bool { return name == tool && now == g })
	})
	return false
}

// grant shares what a user has allowed, unless something was taken back since the decision began, when the number
// of that was revoked: see [Member.forget].
func (m *Member) grant(ctx context.Context, req *registry.ApprovalRequest, revoked uint64) error {
	ctx, cancel := context.WithTimeout(ctx, grantWithin)
	defer cancel()
	name, tool := m.grantName(cmp.Or(onbehalf.Owner(ctx), req.User), req.Conversation), req.Tool.Name
	err := m.change(ctx, name, func(held grants) {
		delete(held, tool)
		for len(held) >= maxGrants {
			delete(held, slices.MinFunc(slices.Collect(maps.Keys(held)), func(a, b string) int { return cmp.Compare(held[a].Until, held[b].Until) }))
		}
		held[tool] = grant{req.Subject, time.Now().Add(grantFor).Unix()}
	})
	m.mu.Lock()
	late := m.revoked != revoked
	m.mu.Unlock()
	if late {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grantWithin)
		defer cancel()
		err = errors.Join(err, m.change(ctx, name, func(held grants) { clear(held) }))
	}
	return err
}

// change changes a record of grants, again if another member was faster. Grants that have ended go, and a record
// without any.
func (m *Member) change(ctx context.Context, name string, edit func(grants)) error {
	for {
		held, at, err := load[grants](ctx, m, name)
		if err != nil && !errors.Is(err, storage.ErrNotFound) && (at == "" || !errors.Is(err, storage.ErrDamaged)) {
			return err
		}
		if err != nil || held == nil {
			held = grants{}
		}
		before := maps.Clone(held)
		edit(held)
		maps.DeleteFunc(held, func(_ string, g grant) bool { return !g.counts() })
		switch {
		case maps.Equal(before, held) && (len(held) > 0 || at == ""):
			return nil
		case len(held) == 0:
			err = m.store.Delete(ctx, name, at)
		default:
			if at == "" {
				if err := m.hasRoom(ctx, name); err != nil {
					return err
				}
			}
			_, err = m.save(ctx, name, held, at)
		}
		if !errors.Is(err, storage.ErrConflict) {
			if errors.Is(err, storage.ErrNotFound) {
				err = nil
			}
			return err
		}
	}
}

var errManyConversations = errors.New("replica: the user has allowed tools in too many conversations")

// hasRoom returns an error if the user of a record has too many.
func (m *Member) hasRoom(ctx context.Context, name string) error {
	n := 0
	for _, err := range m.store.Names(ctx, name[:len(m.grantsOf(""))]) {
		if err != nil {
			return err
		}
		if n++; n >= maxConversations {
			return errManyConversations
		}
	}
	return nil
}

// grantName returns the name of the record of a user and a conversation. Those who do not know the secret of the
// members cannot tell which they are.
func (m *Member) grantName(user, conversation string) string {
	return m.grantsOf(user) + m.digest("conversation", user, conversation)
}

// grantsOf returns what the names of the records of a user begin with.
func (m *Member) grantsOf(user string) string {
	return grantPrefix + m.digest("user", user) + "-"
}

// digest returns a keyed hash of texts.
func (m *Member) digest(texts ...string) string {
	h := hmac.New(sha256.New, []byte("mcpbelt grants 1 "+m.secret))
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:digestLength])
}

// What an answer takes back.
const (
	takeConversation = "conversation"
	takeGrants       = "grants"
)

// EndConversation is [registry.Registry.EndConversation] on all replicas, and returns when all of them have done it that
// are there. If it fails, this one has; the others do it as soon as they reach the store, unless the error is one of
// the store.
func (m *Member) EndConversation(ctx context.Context) error {
	return m.takeBack(ctx, &answer{TakeBack: takeConversation, Conversation: onbehalf.ConversationOf(ctx)})
}

// RevokeGrants is [registry.Registry.RevokeGrants] on all replicas, and returns when all of them have done it that are
// there. If it fails, this one has; the others do it as soon as they reach the store, unless the error is one of the
// store.
func (m *Member) RevokeGrants(ctx context.Context) error {
	return m.takeBack(ctx, &answer{TakeBack: takeGrants})
}

// takeBack takes back what was allowed, here and on all other members.
func (m *Member) takeBack(ctx context.Context, a *answer) error {
	a.User = onbehalf.Owner(ctx)
	err := m.forget(ctx, a)
	if m.ctx.Err() != nil {
		return errors.Join(err, errClosed)
	}
	err = errors.Join(err, m.look(ctx))
	m.mu.Lock()
	told := map[string]string{} // the names of the answers, by member
	for id := range m.peers {
		told[id] = answerName(id)
	}
	m.mu.Unlock()
	for _, name := range told {
		_, failed := m.save(ctx, name, a, "")
		err = errors.Join(err, failed)
	}
	if err != nil {
		return storeError(err)
	}
	for id, name := range told {
		o, failed := m.outcome(ctx, id, name)
		switch {
		case failed == nil:
			_, failed = o.result()
		case errors.Is(failed, errGone), errors.Is(failed, storage.ErrNotFound):
			failed = nil
		default:
			failed = fmt.Errorf("replica: waiting for another replica to take back grants: %w", failed)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// forget takes back here what an answer says, and the records of it. Another member may be about to
// write one: the grants that it shares from now on go by themselves, since it counts what is taken back, and it
// deletes the others when it is told.
func (m *Member) forget(ctx context.Context, a *answer) error {
	m.forgetHere(ctx, a)
	prefix := grantPrefix
	switch {
	case a.TakeBack == takeConversation:
		prefix = m.grantName(a.User, a.Conversation)
	case a.User != "":
		prefix = m.grantsOf(a.User)
	}
	return m.changeAll(ctx, prefix, func(held grants) { clear(held) })
}

// forgetHere takes back in the registry what an answer says.
func (m *Member) forgetHere(ctx context.Context, a *answer) {
	m.mu.Lock()
	m.revoked++
	r := m.registry
	m.mu.Unlock()
	switch {
	case r == nil:
	case a.TakeBack == takeConversation:
		r.EndConversation(registry.WithConversation(ctx, a.Conversation))
	default:
		r.RevokeGrants(ctx)
	}
}

// sweepGrants deletes grants that have ended. Each minute one of the members, on average, looks at one part in 256 of
// them. Each member goes through the parts in order, from one that it draws, so that all are looked at in some hours.
func (m *Member) sweepGrants(ctx context.Context) error {
	m.mu.Lock()
	members := 1 + len(m.peers)
	m.mu.Unlock()
	if m.sweeps++; m.sweeps%members != 0 {
		return nil
	}
	m.part++
	return m.changeAll(ctx, fmt.Sprintf("%s%02x", grantPrefix, m.part), func(grants) {})
}

// changeAll changes the records of grants whose names begin with prefix.
func (m *Member) changeAll(ctx context.Context, prefix string, edit func(grants)) error {
	var names []string
	for name, err := range m.store.Names(ctx, prefix) {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	for _, name := range names {
		if err := m.change(ctx, name, edit); err != nil && !isMoot(err) {
			return err
		}
	}
	return nil
}
