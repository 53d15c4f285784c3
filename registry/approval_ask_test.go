package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// deciding returns a context whose person decides so, and the requests that they saw.
func deciding(ctx context.Context, d approval.Decision, err error) (context.Context, *[]*registry.ApprovalRequest) {
	var seen []*registry.ApprovalRequest
	return registry.WithAsk(ctx, func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		seen = append(seen, req)
		return d, err
	}), &seen
}

func TestWithAsk(t *testing.T) {
	gone := errors.New("gone")
	for _, test := range []struct {
		decision approval.Decision
		err      error
		wants    error // of this type; nil: none
	}{
		{approval.Decision{Verdict: approval.Allow}, nil, nil},
		{approval.Decision{Verdict: approval.AllowForSession}, nil, nil},
		{approval.Decision{Verdict: approval.Deny, Reason: "no"}, nil, &approval.DeniedError{}},
		{approval.Decision{Verdict: approval.Ask}, nil, &registry.ApprovalRequiredError{}},
		{approval.Decision{}, gone, &approval.PolicyError{}},
	} {
		w := newWard(t, approval.Options{})
		ctx, seen := deciding(as(t.Context(), "ann", "c1"), test.decision, test.err)
		_, err := w.Call(ctx, "files__delete", json.RawMessage(`{"path":"a"}`))
		switch test.wants.(type) {
		case nil:
			if err != nil {
				t.Errorf("%v: got %v, want no error", test.decision, err)
			}
		case *approval.DeniedError:
			wantError[*approval.DeniedError](t, err)
		case *registry.ApprovalRequiredError:
			wantError[*registry.ApprovalRequiredError](t, err)
		case *approval.PolicyError:
			wantError[*approval.PolicyError](t, err)
		}
		if len(*seen) != 1 {
			t.Fatalf("%v: asked %d times, want 1", test.decision, len(*seen))
		}
		if got := (*seen)[0]; string(got.Args) != `{"path":"a"}` || got.User != "ann" || got.Reason == "" {
			t.Errorf("got %s of %q for %q, want the arguments, the user and the reason", got.Args, got.User, got.Reason)
		}
		// What is allowed for the session is not asked about again.
		_, _ = w.Call(ctx, "files__delete", json.RawMessage(`{"path":"b"}`))
		want := 2
		if test.decision.Verdict == approval.AllowForSession {
			want = 1
		}
		assert.Equal(t, len(*seen), want, "%v: asked times after a second call", test.decision)
	}
}

// An equal call that waits already ends with the answer, so that it is not made twice.
func TestWithAskSettlesEqualCalls(t *testing.T) {
	for _, verdict := range []approval.Verdict{approval.Allow, approval.Deny} {
		w := newWard(t, approval.Options{})
		ctx := as(t.Context(), "ann", "c1")
		asked := w.asks(t, ctx, "files__delete", `{}`)
		deciding, _ := deciding(ctx, approval.Decision{Verdict: verdict, Reason: "so it is"}, nil)
		_, err := w.Call(deciding, "files__delete", json.RawMessage(`{}`))
		if (err == nil) != (verdict == approval.Allow) {
			t.Errorf("%v: got %v", verdict, err)
		}
		_, err = w.Approve(ctx, asked.ID, nil)
		wantError[*approval.UnknownError](t, err)
		_, err = w.Await(ctx, asked.ID)
		wantError[*approval.DeniedError](t, err)
	}
}

// The decision that was made elsewhere while a person was asked counts.
func TestWithAskDecidedElsewhere(t *testing.T) {
	w := newWard(t, approval.Options{})
	runs := 0
	w.Use(func(next registry.Handler) registry.Handler {
		return func(context.Context, *registry.Call) (*mcp.CallToolResult, error) {
			runs++
			return textResult("done"), nil
		}
	})
	ctx := as(t.Context(), "ann", "c1")
	asked := w.asks(t, ctx, "files__delete", `{}`)
	elsewhere := registry.WithAsk(ctx, func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		if _, err := w.Approve(ctx, asked.ID, nil); err != nil {
			t.Error(err)
		}
		return approval.Decision{Verdict: approval.Allow}, nil
	})
	_, err := w.Call(elsewhere, "files__delete", json.RawMessage(`{}`))
	var required *registry.ApprovalRequiredError
	if !errors.As(err, &required) || required.Request.ID != asked.ID {
		t.Fatalf("got %v, want the call that waited", err)
	}
	if res, err := w.Await(ctx, asked.ID); err != nil || textOf(t, res) != "done" {
		t.Errorf("got %v, %v, want done", res, err)
	}
	assert.Equal(t, runs, 1, "runs")
}
