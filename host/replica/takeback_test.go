package replica_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A sharer is a replica with tools whose calls are asked about.
type sharer struct {
	*replica.Member
	registry *registry.Registry
}

// newSharer returns a replica whose approver asks about each call.
func newSharer(t *testing.T, store storage.Store, opts *replica.Options) *sharer {
	t.Helper()
	s := &sharer{}
	var err error
	s.Member, err = replica.Join(t.Context(), store, opts)
	assert.OK(t, err)
	s.registry = registry.New(&registry.Options{
		Approvals: approval.Options{Replica: s.ID()},
		Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask}, nil
		}),
	})
	s.offers(t)
	assert.OK(t, s.Attach(s.registry))
	t.Cleanup(func() { assert.Equal(t, s.Close(context.WithoutCancel(t.Context())), nil, "closing") })
	return s
}

// offers has the server mail offer two tools.
func (s *sharer) offers(t *testing.T) {
	t.Helper()
	var tools []registry.Tool
	for _, name := range []string{"send", "drop"} {
		tool := assert.Value(registry.With(registry.MustFunc(name, "Send a text.", func(_ context.Context, in args) (string, error) {
			return in.Text, nil
		}), func(d *registry.Definition) {
			d.Name, d.Origin = "mail__"+name, registry.Origin{Server: "mail", Tool: name}
		}))(t)
		tools = append(tools, tool)
	}
	assert.Value(s.registry.Replace(registry.Server{Name: "mail"}, tools))(t)
}

// asks wants a call that is to wait, and returns its id.
func (s *sharer) asks(t *testing.T, ctx context.Context, tool string) string {
	t.Helper()
	_, err := s.registry.Call(ctx, tool, json.RawMessage(`{"text":"a"}`))
	required := assert.As[*registry.ApprovalRequiredError](t, err, "the call waits")
	return required.Request.ID
}

// allows answers a call with "for this session".
func (s *sharer) allows(t *testing.T, ctx context.Context, tool string) {
	t.Helper()
	assert.Value(s.Member.Approve(ctx, s.asks(t, ctx, tool), &registry.ApproveOptions{ForSession: true}))(t)
}

// isFree reports whether a call is made without a question. If not, nothing is left that waits.
func (s *sharer) isFree(t *testing.T, ctx context.Context, tool string) bool {
	t.Helper()
	_, err := s.registry.Call(ctx, tool, json.RawMessage(`{"text":"b"}`))
	if err == nil {
		return true
	}
	required := assert.As[*registry.ApprovalRequiredError](t, err, "the call waits")
	assert.OK(t, s.registry.Deny(ctx, required.Request.ID, ""))
	return false
}

func in(t *testing.T, user, conversation string) context.Context {
	return registry.WithConversation(session.WithUser(t.Context(), user), conversation)
}

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
			for _, s := range []*sharer{a, b, c} {
				for _, ctx := range all {
					if !s.isFree(t, ctx, "mail__send") {
						s.allows(t, ctx, "mail__send")
					}
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
			assert.True(t, a.isFree(t, ann, "mail__send"), "away for %v: it goes on with what it knows", away)
			cut.dead.Store(false)
			settled()
			assert.False(t, a.isFree(t, ann, "mail__send"), "away for %v: a free call when it was back", away)
		})
	}
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
