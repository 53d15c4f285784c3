package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// What is allowed for a session is allowed to that user, in that conversation,
// for that tool.
func TestGrants(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ann := inConversation(t.Context(), "ann", "c1")
	w.allowForConversation(t, ann, "files__delete")
	for _, c := range []struct {
		ctx  context.Context
		tool string
		want bool
	}{
		{ann, "files__delete", true},
		{ann, "files__move", false},
		{inConversation(t.Context(), "ann", "c2"), "files__delete", false},
		{inConversation(t.Context(), "bob", "c1"), "files__delete", false},
		{inConversation(t.Context(), "annc", "1"), "files__delete", false},
		{onbehalf.With(t.Context(), "ann"), "files__delete", false},
		{registry.WithConversation(t.Context(), "c1"), "files__delete", false},
		{t.Context(), "files__delete", false},
	} {
		assert.Equal(t, w.isAllowed(t, c.ctx, c.tool), c.want, "%+v: allowed", c)
	}

	// A plain approval is for one call.
	assert.Value(w.Approve(t.Context(), w.mustAsk(t, ann, "files__move", `{}`).ID, nil))(t)
	assert.False(t, w.isAllowed(t, ann, "files__move"), "one approval was taken for all")

	// A policy that says no wins over the grant.
	w.setVerdict(approval.Deny)
	wantError[*approval.DeniedError](t, assert.Err(w.Call(ann, "files__delete", nil)))
	w.setVerdict(approval.Ask)
	assert.True(t, w.isAllowed(t, ann, "files__delete"), "the grant holds")
}

// A grant is for the tool as it was.
func TestGrantOfAToolThatChanged(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	w.allowForConversation(t, t.Context(), "files__delete")
	tool, _ := w.Snapshot().Lookup("files__delete")
	mustReplace(t, w.Registry, "files", assert.Value(registry.With(tool, func(d *registry.Definition) { d.Description = "Deletes everything" }))(t))
	assert.False(t, w.isAllowed(t, t.Context(), "files__delete"), "the grant holds for another tool")
	// Once it was over it does not come back with the tool.
	mustReplace(t, w.Registry, "files", tool)
	assert.False(t, w.isAllowed(t, t.Context(), "files__delete"), "the grant came back")

	// A server that comes back with the same tools is the same.
	w.allowForConversation(t, t.Context(), "files__delete")
	w.connect(t)
	assert.True(t, w.isAllowed(t, t.Context(), "files__delete"), "the grant outlives a connection")
}

func TestRevokeGrants(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	all := []context.Context{inConversation(t.Context(), "ann", "c1"), inConversation(t.Context(), "ann", "c2"), inConversation(t.Context(), "bob", "c1")}
	are := func(want ...bool) {
		t.Helper()
		for i, ctx := range all {
			assert.Equal(t, w.isAllowed(t, ctx, "files__delete"), want[i], "%d: allowed", i)
		}
	}
	for _, ctx := range all {
		w.allowForConversation(t, ctx, "files__delete")
	}
	are(true, true, true)
	w.EndConversation(all[1])
	are(true, false, true)
	waiting := w.mustAsk(t, all[0], "files__move", `{}`)
	w.RevokeGrants(all[0])
	are(false, false, true)
	w.RevokeGrants(t.Context())
	are(false, false, false)
	assert.Equal(t, assert.Only(t, w.Approvals(t.Context())).ID, waiting.ID, "calls wait")
}

// An approver that asks for a call does not allow it by what else it does.
func TestGrantThatIsNone(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := inConversation(t.Context(), "ann", "c1")
	w.setApprover(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		req.Approved = true
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	w.mustAsk(t, ctx, "files__delete", `{}`)
	w.wantReached(t)
	w.allowForConversation(t, ctx, "files__delete")
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		w.RevokeGrants(ctx)
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	w.mustAsk(t, ctx, "files__delete", `{}`)
	w.wantReached(t, `{"for":"conversation"}`)
}

// What is taken back while a person decides is not given by that decision.
func TestGrantThatComesTooLate(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := inConversation(t.Context(), "ann", "c1")
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		w.EndConversation(ctx)
		return approval.Decision{Verdict: approval.AllowForConversation}, nil
	})
	assert.Value(w.Call(ctx, "files__delete", nil))(t)
	w.setVerdict(approval.Ask)
	assert.False(t, w.isAllowed(t, ctx, "files__delete"), "a decision outlived the conversation")

	asked := w.mustAsk(t, ctx, "files__delete", `{}`)
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		w.RevokeGrants(t.Context())
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	assert.Value(w.Approve(ctx, asked.ID, &registry.ApproveOptions{ForConversation: true}))(t)
	w.setVerdict(approval.Ask)
	assert.False(t, w.isAllowed(t, ctx, "files__delete"), "a grant outlived its being revoked")
}

// The approver learns of what the user allows for the conversation, however they are asked, and its denial wins.
func TestApproverLearnsOfSessions(t *testing.T) {
	for _, deny := range []bool{false, true} {
		for _, asked := range []string{"later", "at once"} {
			w := newApprovalServer(t, approval.Options{})
			var seen []bool
			subjects := map[string]bool{}
			w.setApprover(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
				seen = append(seen, req.ForConversation)
				subjects[req.Subject] = true
				if deny && req.ForConversation {
					return approval.Decision{Verdict: approval.Deny}, nil
				}
				return approval.Decision{Verdict: approval.Ask}, nil
			})
			ctx := inConversation(t.Context(), "ann", "c1")
			var err error
			if asked == "later" {
				_, err = w.Approve(ctx, w.mustAsk(t, ctx, "files__delete", `{}`).ID, &registry.ApproveOptions{ForConversation: true})
			} else {
				deciding, _ := deciding(ctx, approval.Decision{Verdict: approval.AllowForConversation}, nil)
				_, err = w.Call(deciding, "files__delete", json.RawMessage(`{}`))
			}
			assert.List(t, seen, []bool{false, true}, "asked %s", asked)
			assert.True(t, len(subjects) == 1 && !subjects[""], "asked %s: there is one subject", asked)
			assert.Equal(t, errors.As(err, new(*approval.DeniedError)), deny, "asked %s", asked)
			assert.False(t, w.isAllowed(t, ctx, "files__delete") == deny, "asked %s: allowed later is not allowed now", asked)
		}
	}
}
