package replica_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
)

// What is taken back on one replica is taken back on all.
func TestTakeBackElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b, c := newSharer(t, store, nil), newSharer(t, store, nil), newSharer(t, store, nil)
		settled()
		ann1, ann2, bob1 := in(t, "ann", "c1"), in(t, "ann", "c2"), in(t, "bob", "c1")
		all := []context.Context{ann1, ann2, bob1}
		for _, test := range []struct {
			name string
			do   func() error
			want [3]bool
		}{
			{"the conversation", func() error { return c.EndConversation(ann1) }, [3]bool{false, true, true}},
			{"the user", func() error { return c.RevokeGrants(ann2) }, [3]bool{false, false, true}},
			{"all", func() error { return c.RevokeGrants(t.Context()) }, [3]bool{}},
		} {
			for _, ctx := range all {
				if !a.isFree(t, ctx, "mail__send") {
					a.allows(t, ctx, "mail__send")
				}
				if !b.isFree(t, ctx, "mail__send") {
					t.Errorf("%s: got a question before, want none", test.name)
				}
			}
			waiting := b.asks(t, ann1, "mail__drop")
			assert.Equal(t, test.do(), nil, "%s", test.name)
			for _, s := range []*sharer{a, b, c} {
				for i, ctx := range all {
					assert.Equal(t, s.isFree(t, ctx, "mail__send"), test.want[i], "%s: got a free call", test.name)
				}
			}
			assert.Equal(t, len(b.registry.Approvals(ann1)) == 0, test.name == "the conversation", "%s: no call waits", test.name)
			_ = b.registry.Deny(ann1, waiting, "")
		}
		settled()
		for name, err := range store.Names(t.Context(), "answer-") {
			t.Errorf("got the record %s, %v, want none of answers", name, err)
		}
	})
}

// A replica that could not be told forgets what was allowed as soon as it can.
func TestTakeBackOfTheCutOff(t *testing.T) {
	for _, away := range []time.Duration{3 * time.Second, time.Minute, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := storage.NewMemory()
			cut := &stuckStore{Store: store}
			a, b := newSharer(t, cut, nil), newSharer(t, store, nil)
			settled()
			ann := in(t, "ann", "c1")
			a.allows(t, ann, "mail__send")
			cut.dead.Store(true)
			time.Sleep(away)
			ctx, cancel := context.WithTimeout(session.WithUser(t.Context(), "ann"), 5*time.Second)
			defer cancel()
			err := b.RevokeGrants(ctx)
			assert.Equal(t, errors.Is(err, context.DeadlineExceeded), away < 20*time.Second, "away for %v", away)
			assert.Equal(t, a.isFree(t, ann, "mail__send"), true, "away for %v: it goes on with what it knows", away)
			cut.dead.Store(false)
			settled()
			assert.Equal(t, a.isFree(t, ann, "mail__send"), false, "away for %v: a free call when it was back", away)
		})
	}
}

// A decision from before grants were taken back is not shared after it.
func TestTakeBackWhileItIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		a, b := newSharer(t, store, nil), newSharer(t, store, nil)
		settled()
		ann := in(t, "ann", "c1")
		id := a.asks(t, ann, "mail__send")
		decided := make(chan struct{})
		a.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			<-decided
			return approval.Decision{Verdict: approval.Ask}, nil
		})
		made := make(chan error)
		go func() {
			_, err := a.Approve(ann, id, &registry.ApproveOptions{ForSession: true})
			made <- err
		}()
		synctest.Wait()
		assert.Equal(t, b.RevokeGrants(ann), nil)
		close(decided)
		assert.Equal(t, <-made, nil)
		for _, s := range []*sharer{a, b} {
			assert.Equal(t, s.isFree(t, ann, "mail__send"), false, "a free call")
		}
	})
}

// A replica that leaves takes back what it is told to, while it waits for a call that it makes.
func TestTakeBackOfTheLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		gate := make(chan struct{})
		a, b := newSite(t, store, gate), newSite(t, store, nil)
		id := a.call(t, t.Context(), "hello")
		settled()
		made, left := make(chan error), make(chan error)
		go func() {
			_, err := b.Approve(t.Context(), id, nil)
			made <- err
		}()
		settled()
		go func() { left <- a.Close(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		assert.Equal(t, b.RevokeGrants(ctx), nil)
		close(gate)
		assert.Equal(t, <-made, nil, "of the call")
		assert.Equal(t, <-left, nil, "of Close")
	})
}
