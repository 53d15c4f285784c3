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
	_, err := r.Call(t.Context(), "files__read", json.RawMessage(`no JSON`))
	if err != refusal {
		t.Errorf("got %v, want %v", err, refusal)
	}
	assert.Equal(t, *asked, 0, "the approver was asked times")

	busy = nil
	_, err = r.Call(t.Context(), "files__read", nil)
	var required *registry.ApprovalRequiredError
	if !errors.As(err, &required) {
		t.Fatalf("got %v, want an ApprovalRequiredError", err)
	}
	busy = refusal
	if _, err := r.Approve(t.Context(), required.Request.ID, nil); err != refusal {
		t.Errorf("Approve: got %v, want %v", err, refusal)
	}
	assert.Equal(t, *asked, 1, "the approver was asked times")
	busy = nil
	if _, err := r.Approve(t.Context(), required.Request.ID, nil); err != nil {
		t.Errorf("Approve once there is room: got %v, want no error", err)
	}
}

// A refusal costs no memory, or the refused callers would slow down the others.
func TestBusyServerDoesNotAllocate(t *testing.T) {
	busy := error(&mcp.BusyError{Server: "files"})
	r, _ := newBusyRegistry(t, &busy)
	args := json.RawMessage(`{"path":"a"}`)
	ctx := t.Context()
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		if _, err := r.Call(ctx, "files__read", args); err != busy {
			t.Errorf("got %v, want %v", err, busy)
		}
	}), 0, "allocations")
}
