package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/storage"
)

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
	a.User, _ = onbehalf.User(ctx)
	m.forget(ctx, a)
	if m.ctx.Err() != nil {
		return errClosed
	}
	err := m.look(ctx)
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
		_, failed := m.outcome(ctx, id, name)
		if failed != nil && !errors.Is(failed, errGone) && !errors.Is(failed, storage.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("replica: waiting for another replica to take back grants: %w", failed))
		}
	}
	return err
}

// forget takes back in the registry of this member what an answer says.
func (m *Member) forget(ctx context.Context, a *answer) {
	switch r := m.attached(); {
	case r == nil:
	case a.TakeBack == takeConversation:
		r.EndConversation(registry.WithConversation(ctx, a.Conversation))
	default:
		r.RevokeGrants(ctx)
	}
}
