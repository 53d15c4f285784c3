package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// allowForSession answers a call that waits with "for this session".
func (w *ward) allowForSession(t *testing.T, ctx context.Context, tool string) {
	t.Helper()
	asked := w.asks(t, ctx, tool, `{"for":"session"}`)
	assert.Value(w.Approve(t.Context(), asked.ID, &registry.ApproveOptions{ForSession: true}))(t)
}

// free reports whether a call is made without anybody being asked. If not, it
// leaves nothing that waits.
func (w *ward) free(t *testing.T, ctx context.Context, tool string) bool {
	t.Helper()
	_, err := w.Call(ctx, tool, json.RawMessage(`{"is it":"free"}`))
	if err == nil {
		return true
	}
	asked := wantError[*registry.ApprovalRequiredError](t, err).Request
	assert.OK(t, w.Deny(t.Context(), asked.ID, ""))
	return false
}

// What is allowed for a session is allowed to that user, in that conversation,
// for that tool.
func TestGrants(t *testing.T) {
	w := newWard(t, approval.Options{})
	ann := as(t.Context(), "ann", "c1")
	w.allowForSession(t, ann, "files__delete")
	for _, c := range []struct {
		ctx  context.Context
		tool string
		want bool
	}{
		{ann, "files__delete", true},
		{ann, "files__move", false},
		{as(t.Context(), "ann", "c2"), "files__delete", false},
		{as(t.Context(), "bob", "c1"), "files__delete", false},
		{as(t.Context(), "annc", "1"), "files__delete", false},
		{onbehalf.With(t.Context(), "ann"), "files__delete", false},
		{registry.WithConversation(t.Context(), "c1"), "files__delete", false},
		{t.Context(), "files__delete", false},
	} {
		assert.Equal(t, w.free(t, c.ctx, c.tool), c.want, "%+v: allowed", c)
	}

	// A plain approval is for one call.
	asked := w.asks(t, ann, "files__move", `{}`)
	assert.Value(w.Approve(t.Context(), asked.ID, nil))(t)
	if w.free(t, ann, "files__move") {
		t.Error("one approval was taken for all")
	}

	// A policy that says no wins over the grant.
	w.says(approval.Deny)
	_, err := w.Call(ann, "files__delete", nil)
	wantError[*approval.DeniedError](t, err)
	w.says(approval.Ask)
	if !w.free(t, ann, "files__delete") {
		t.Error("the grant is gone")
	}
}

// A grant is for the tool as it was.
func TestGrantOfAToolThatChanged(t *testing.T) {
	w := newWard(t, approval.Options{})
	w.allowForSession(t, t.Context(), "files__delete")
	tool, _ := w.Snapshot().Lookup("files__delete")
	changed := assert.Value(registry.With(tool, func(d *registry.Definition) { d.Description = "Deletes everything" }))(t)
	mustReplace(t, w.Registry, "files", changed)
	if w.free(t, t.Context(), "files__delete") {
		t.Error("the grant holds for another tool")
	}
	// Once it was over it does not come back with the tool.
	mustReplace(t, w.Registry, "files", tool)
	if w.free(t, t.Context(), "files__delete") {
		t.Error("the grant came back")
	}

	// A server that comes back with the same tools is the same.
	w.allowForSession(t, t.Context(), "files__delete")
	w.connect(t)
	if !w.free(t, t.Context(), "files__delete") {
		t.Error("a new connection ended the grant")
	}
}

func TestMaxGrants(t *testing.T) {
	w := newWard(t, approval.Options{MaxGrants: 2})
	conversation := func(id string) context.Context { return registry.WithConversation(t.Context(), id) }
	w.allowForSession(t, conversation("1"), "files__delete")
	w.allowForSession(t, conversation("2"), "files__delete")
	if !w.free(t, conversation("1"), "files__delete") {
		t.Fatal("no grant")
	}
	w.allowForSession(t, conversation("3"), "files__delete")
	for id, want := range map[string]bool{"1": true, "2": false, "3": true} {
		assert.Equal(t, w.free(t, conversation(id), "files__delete"), want, "%s: allowed", id)
	}
}

func TestRevokeGrants(t *testing.T) {
	w := newWard(t, approval.Options{})
	all := []context.Context{as(t.Context(), "ann", "c1"), as(t.Context(), "ann", "c2"), as(t.Context(), "bob", "c1")}
	are := func(want ...bool) {
		t.Helper()
		for i, ctx := range all {
			assert.Equal(t, w.free(t, ctx, "files__delete"), want[i], "%d: allowed", i)
		}
	}
	for _, ctx := range all {
		w.allowForSession(t, ctx, "files__delete")
	}
	are(true, true, true)
	w.EndConversation(all[1])
	are(true, false, true)
	waiting := w.asks(t, all[0], "files__move", `{}`)
	w.RevokeGrants(all[0])
	are(false, false, true)
	w.RevokeGrants(t.Context())
	are(false, false, false)
	if list := w.Approvals(t.Context()); len(list) != 1 || list[0].ID != waiting.ID {
		t.Errorf("%d calls wait", len(list))
	}
}

// An approver that asks for a call does not allow it by what else it does.
func TestGrantThatIsNone(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := as(t.Context(), "ann", "c1")
	w.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		req.Approved = true
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	w.asks(t, ctx, "files__delete", `{}`)
	w.at(t)
	w.allowForSession(t, ctx, "files__delete")
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		w.RevokeGrants(ctx)
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	w.asks(t, ctx, "files__delete", `{}`)
	w.at(t, `{"for":"session"}`)
}

// What is taken back while somebody decides is not given by that decision.
func TestGrantThatComesTooLate(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := as(t.Context(), "ann", "c1")
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		w.EndConversation(ctx)
		return approval.Decision{Verdict: approval.AllowForSession}, nil
	})
	assert.Value(w.Call(ctx, "files__delete", nil))(t)
	w.says(approval.Ask)
	if w.free(t, ctx, "files__delete") {
		t.Error("a decision outlived the conversation")
	}

	asked := w.asks(t, ctx, "files__delete", `{}`)
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		w.RevokeGrants(t.Context())
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	assert.Value(w.Approve(ctx, asked.ID, &registry.ApproveOptions{ForSession: true}))(t)
	w.says(approval.Ask)
	if w.free(t, ctx, "files__delete") {
		t.Error("a grant outlived its being revoked")
	}
}

// The approver learns of what the user allows for the session, however they are asked, and its denial wins.
func TestApproverLearnsOfSessions(t *testing.T) {
	for _, deny := range []bool{false, true} {
		for _, asked := range []string{"later", "at once"} {
			w := newWard(t, approval.Options{})
			var seen []bool
			subjects := map[string]bool{}
			w.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
				seen = append(seen, req.ForSession)
				subjects[req.Subject] = true
				if deny && req.ForSession {
					return approval.Decision{Verdict: approval.Deny}, nil
				}
				return approval.Decision{Verdict: approval.Ask}, nil
			})
			ctx := as(t.Context(), "ann", "c1")
			var err error
			if asked == "later" {
				waiting := w.asks(t, ctx, "files__delete", `{}`)
				_, err = w.Approve(ctx, waiting.ID, &registry.ApproveOptions{ForSession: true})
			} else {
				deciding, _ := deciding(ctx, approval.Decision{Verdict: approval.AllowForSession}, nil)
				_, err = w.Call(deciding, "files__delete", json.RawMessage(`{}`))
			}
			if want := []bool{false, true}; !slices.Equal(seen, want) {
				t.Errorf("asked %s: got ForSession %v, want %v", asked, seen, want)
			}
			if len(subjects) != 1 || subjects[""] {
				t.Errorf("asked %s: got the subjects %v, want one that is not empty", asked, subjects)
			}
			if denied := errors.As(err, new(*approval.DeniedError)); denied != deny {
				t.Errorf("asked %s: got %v, want an error: %v", asked, err, deny)
			}
			if got := w.free(t, ctx, "files__delete"); got == deny {
				t.Errorf("asked %s: allowed later: got %v, want %v", asked, got, !deny)
			}
		}
	}
}
