package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
)

// newReplica returns a registry with a tool whose calls a user is asked about, and its place among those that share a
// store.
func newReplica(t *testing.T, store storage.Store) (*registry.Registry, *replica.Member) {
	t.Helper()
	m := assert.Value(replica.Join(t.Context(), store, &replica.Options{Every: time.Minute}))(t)
	t.Cleanup(func() { assert.OK(t, m.Close(context.WithoutCancel(t.Context()))) })
	ask := registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	r := registry.New(&registry.Options{Approver: m.Approver(ask), Approvals: approval.Options{Replica: m.ID()}})
	assert.OK(t, r.Add(registry.MustFunc("send", "Send.", func(context.Context, struct{}) (string, error) { return "sent", nil })))
	assert.OK(t, m.Attach(r))
	return r, m
}

// What a user allows for a session on one replica counts on another, until it is taken back there.
func TestReplicasShareGrants(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		twin := p.open(t)
		here, _ := newReplica(t, twin.one.Store("replicas"))
		there, other := newReplica(t, twin.two.Store("replicas"))
		ann := registry.WithConversation(session.WithUser(t.Context(), "ann"), "c")
		asks := assert.As[*registry.ApprovalRequiredError](t, assert.Err(here.Call(ann, "send", nil)))
		assert.Value(here.Approve(ann, asks.Request.ID, &registry.ApproveOptions{ForConversation: true}))(t)
		assert.Value(there.Call(ann, "send", nil))(t)
		assert.OK(t, other.RevokeGrants(ann))
		for _, r := range []*registry.Registry{here, there} {
			assert.As[*registry.ApprovalRequiredError](t, assert.Err(r.Call(ann, "send", nil)), "after it was taken back")
		}
	})
}
