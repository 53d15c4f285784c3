// Tests of approval.go, approver.go, decide.go and context.go: who decides about a call.

package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// No call passes but one that was decided for.
func TestApprovalVerdicts(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := t.Context()
	call := func() error {
		_, err := w.Call(ctx, "files__delete", json.RawMessage(`{"path":"a"}`))
		return err
	}

	for _, v := range []approval.Verdict{approval.Deny, -1, 4, 1 << 20} {
		w.setVerdict(v)
		assert.Equal(t, *wantError[*approval.DeniedError](t, call()), approval.DeniedError{Tool: "files__delete", Reason: "because"}, "%v", v)
	}
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Allow}, errors.New("the policy cannot be read")
	})
	failed := wantError[*approval.PolicyError](t, call())
	assert.Equal(t, failed.Tool, "files__delete", "tool")
	assert.Equal(t, failed.Err.Error(), "the policy cannot be read")
	w.setVerdict(approval.Ask)
	assert.Equal(t, wantError[*registry.ApprovalRequiredError](t, call()).Request.Reason, "because", "reason")
	w.wantReached(t)

	w.setVerdict(approval.Allow)
	assert.OK(t, call())
	w.wantReached(t, `{"path":"a"}`)
}

// An unlisted tool does not even come before the approver.
func TestApprovalOfAnUnlistedTool(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	w.setApprover(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		t.Errorf("asked about %s", req.Tool.Name)
		return approval.Decision{Verdict: approval.Allow}, nil
	})
	wantError[*registry.UnknownToolError](t, assert.Err(w.Call(t.Context(), "files__format", nil)))
	w.Remove("files__move")
	wantError[*registry.UnknownToolError](t, assert.Err(w.Call(t.Context(), "files__move", nil)))
	w.wantReached(t)
}

// The approver sees who wants what, and cannot change it.
func TestApprovalRequest(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	w.setApprover(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		assert.Equal(t, fmt.Sprintf("%s in %s: %s of %s, %s", req.User, req.Conversation, req.Tool.Origin.Tool, req.Tool.Origin.Server, req.Args), `ann in c1: delete of files, {"path":"a"}`)
		assert.Equal(t, fmt.Sprintf("%q %t %q %t %t", req.ID, req.Approved, req.Reason, req.Asked.IsZero(), req.Expires.IsZero()), `"" false "" true true`, "what a request has that waits")
		copy(req.Args, `{"path":"b"}`)
		req.User, req.Conversation = "bob", "c2"
		return approval.Decision{Verdict: approval.AllowForConversation}, nil
	})
	assert.Value(w.Call(inConversation(t.Context(), "ann", "c1"), "files__delete", json.RawMessage(`{"path":"a"}`)))(t)
	w.wantReached(t, `{"path":"a"}`)
	w.setVerdict(approval.Ask)
	w.mustAsk(t, inConversation(t.Context(), "bob", "c2"), "files__delete", `{}`)

	w.setApprover(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		assert.Equal(t, fmt.Sprint(req.Approved, req.ID), "true", "approved, without an id")
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	assert.Value(w.Call(inConversation(t.Context(), "ann", "c1"), "files__delete", nil))(t)
}

// A context that ends while a person decides ends the call, and leaves nothing.
func TestApprovalContext(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w.setApprover(func(ctx context.Context, _ *registry.ApprovalRequest) (approval.Decision, error) {
		cancel()
		<-ctx.Done()
		return approval.Decision{}, ctx.Err()
	})
	assert.Is(t, wantError[*approval.PolicyError](t, assert.Err(w.Call(ctx, "files__delete", nil))), context.Canceled)
	w.setVerdict(approval.Ask)
	assert.Is(t, wantError[*approval.PolicyError](t, assert.Err(w.Call(ctx, "files__delete", nil))), context.Canceled)
	assert.Equal(t, len(w.Approvals(t.Context())), 0, "calls wait")
	w.wantReached(t)
}

// A panic of the approver goes to the caller, and the call is not made.
func TestApprovalPanic(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) { panic("oh") })
	assert.Equal(t, panicOf(func() { _, _ = w.Call(t.Context(), "files__delete", nil) }), "oh", "the panic")
	assert.Equal(t, len(w.Approvals(t.Context())), 0, "calls wait")
	w.wantReached(t)
	w.setVerdict(approval.Allow) // nothing is locked
	assert.Value(w.Call(t.Context(), "files__delete", nil))(t)
}

// deciding returns a context whose person decides so, and the requests that they saw.
func deciding(ctx context.Context, d approval.Decision, err error) (context.Context, *[]*registry.ApprovalRequest) {
	var seen []*registry.ApprovalRequest
	return registry.WithAsk(ctx, func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		seen = append(seen, req)
		return d, err
	}), &seen
}

func TestWithAsk(t *testing.T) {
	for _, test := range []struct {
		decision approval.Decision
		err      error
		want     string // type of the error
		again    int    // requests after a second call
	}{
		{approval.Decision{Verdict: approval.Allow}, nil, "<nil>", 2},
		{approval.Decision{Verdict: approval.AllowForConversation}, nil, "<nil>", 1},
		{approval.Decision{Verdict: approval.Deny, Reason: "no"}, nil, "*approval.DeniedError", 2},
		{approval.Decision{Verdict: approval.Ask}, nil, "*registry.ApprovalRequiredError", 2},
		{approval.Decision{}, errors.New("gone"), "*approval.PolicyError", 2},
	} {
		w := newApprovalServer(t, approval.Options{})
		ctx, seen := deciding(inConversation(t.Context(), "ann", "c1"), test.decision, test.err)
		assert.Equal(t, fmt.Sprintf("%T", assert.Err(w.Call(ctx, "files__delete", json.RawMessage(`{"path":"a"}`)))), test.want, "%v", test.decision)
		got := assert.Only(t, *seen)
		assert.Equal(t, got.User+string(got.Args), `ann{"path":"a"}`, "the request")
		assert.True(t, got.Reason != "", "a request has a reason")
		// What is allowed for the conversation is not asked about again.
		_, _ = w.Call(ctx, "files__delete", json.RawMessage(`{"path":"b"}`))
		assert.Equal(t, len(*seen), test.again, "%v: asked times after a second call", test.decision)
	}
}

// An equal call that waits already ends with the answer, so that it is not made twice.
func TestWithAskSettlesEqualCalls(t *testing.T) {
	for _, verdict := range []approval.Verdict{approval.Allow, approval.Deny} {
		w := newApprovalServer(t, approval.Options{})
		ctx := inConversation(t.Context(), "ann", "c1")
		asked := w.mustAsk(t, ctx, "files__delete", `{}`)
		deciding, _ := deciding(ctx, approval.Decision{Verdict: verdict, Reason: "so it is"}, nil)
		assert.Equal(t, assert.Err(w.Call(deciding, "files__delete", json.RawMessage(`{}`))) == nil, verdict == approval.Allow, "%v", verdict)
		wantError[*approval.UnknownError](t, assert.Err(w.Approve(ctx, asked.ID, nil)))
		wantError[*approval.DeniedError](t, assert.Err(w.Await(ctx, asked.ID)))
	}
}

// The decision that was made elsewhere while a person was asked counts.
func TestWithAskDecidedElsewhere(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	runs := 0
	w.Use(around(func(_ context.Context, _ *registry.Call, _ registry.Handler) (*mcp.CallToolResult, error) {
		runs++
		return textResult("done"), nil
	}))
	ctx := inConversation(t.Context(), "ann", "c1")
	asked := w.mustAsk(t, ctx, "files__delete", `{}`)
	elsewhere := registry.WithAsk(ctx, func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		assert.Value(w.Approve(ctx, asked.ID, nil))(t)
		return approval.Decision{Verdict: approval.Allow}, nil
	})
	_, err := w.Call(elsewhere, "files__delete", json.RawMessage(`{}`))
	assert.Equal(t, assert.As[*registry.ApprovalRequiredError](t, err).Request.ID, asked.ID, "id")
	assert.Equal(t, textOf(t, assert.Value(w.Await(ctx, asked.ID))(t)), "done")
	assert.Equal(t, runs, 1, "runs")
}

// newBusyRegistry returns a registry with the tool files__read, whose server is busy while
// *busy is not nil, and the number of times that the approver was asked.
func newBusyRegistry(t *testing.T, busy *error) (r *registry.Registry, asked *int) {
	t.Helper()
	asked = new(int)
	r = registry.New(&registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		*asked++
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	facts := registry.Server{Name: "files", Busy: func(context.Context, int) error { return *busy }}
	assert.Value(r.Replace(facts, []registry.Tool{serverTool("files", "read", "")}))(t)
	return r, asked
}

// A call that its server's client would refuse is refused before anything is done for it.
func TestBusyServerRefusesFirst(t *testing.T) {
	refusal := error(&mcp.BusyError{Server: "files"})
	busy := refusal
	r, asked := newBusyRegistry(t, &busy)
	assert.Equal(t, assert.Err(r.Call(t.Context(), "files__read", json.RawMessage(`no JSON`))), refusal)
	assert.Equal(t, *asked, 0, "the approver was asked times")

	busy = nil
	required := assert.As[*registry.ApprovalRequiredError](t, assert.Err(r.Call(t.Context(), "files__read", nil)))
	busy = refusal
	assert.Equal(t, assert.Err(r.Approve(t.Context(), required.Request.ID, nil)), refusal, "Approve")
	assert.Equal(t, *asked, 1, "the approver was asked times")
	busy = nil
	assert.Value(r.Approve(t.Context(), required.Request.ID, nil))(t)
}

// A refusal costs no memory, or the refused callers would slow down the others.
func TestBusyServerDoesNotAllocate(t *testing.T) {
	busy := error(&mcp.BusyError{Server: "files"})
	r, _ := newBusyRegistry(t, &busy)
	args := json.RawMessage(`{"path":"a"}`)
	ctx := t.Context()
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		assert.Equal(t, assert.Err(r.Call(ctx, "files__read", args)), busy)
	}), 0, "allocations")
}

// A function or a context that is nil is an error in words.
func TestNilThings(t *testing.T) {
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(nil)})
	assert.OK(t, r.Add(registry.MustFunc("add", "Add", func(context.Context, struct{}) (int, error) { return 1, nil })))
	var none context.Context
	for want, ctx := range map[string]context.Context{"the ApproverFunc is nil": t.Context(), "the context is nil": none} {
		_, err := r.Call(ctx, "add", nil)
		assert.Contains(t, fmt.Sprint(err), want)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s", want)
	}
}
