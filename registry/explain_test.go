package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// explainAway has a registry say of all tools of a server that it is not ready.
func explainAway(r *registry.Registry, server string, cause error) (stop func()) {
	return r.Explain(func(_ context.Context, name string) error {
		if strings.HasPrefix(name, server+"__") {
			return &registry.NotReadyError{Tool: name, Server: server, Reason: "it is being started", Err: cause}
		}
		return nil
	})
}

// Whoever names a tool that is not there, by whatever way, learns why.
func TestCallsLearnWhyThereIsNoTool(t *testing.T) {
	r := registry.New(nil)
	mustAdd(t, r, native("clock"))
	mustReplace(t, r, "github", serverTool("github", "create_issue", ""))
	cause := errors.New("the variable SECRET is not set")
	stop := explainAway(r, "gitea", cause)
	const said = `tool "gitea__create_issue": server "gitea" is not ready: it is being started`
	_, called := r.Call(t.Context(), "gitea__create_issue", nil)
	_, found := r.Find(t.Context(), "gitea__create_issue")
	for way, err := range map[string]error{"Call": called, "Find": found} {
		notReady := wantError[*registry.NotReadyError](t, err)
		assert.Equal(t, notReady.Server, "gitea", "%s: got server", way)
		if !errors.Is(err, cause) {
			t.Errorf("%s: got %v, want an error that wraps the server's", way, err)
		}
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s: got outcome", way)
		assert.Equal(t, err.Error(), said+": "+cause.Error(), "%s", way)
		assert.Equal(t, textOf(t, registry.ErrorResult(err)), said, "%s: got result", way)
	}
	if _, err := r.Call(t.Context(), "clock", nil); err != nil {
		t.Errorf("a tool that is listed: %v", err)
	}
	stop()
	stop()
	if got := suggestions(t, r, "gitea__create_issue").Suggestions; len(got) != 1 || got[0] != "github__create_issue" {
		t.Errorf("after stop: got suggestions %q, want github__create_issue", got)
	}
}

// The tool that the function adds is called.
func TestExplainMayAddTheTool(t *testing.T) {
	r := registry.New(nil)
	explainAway(r, "notes", nil) // is asked after the other, and not at all where that helps
	r.Explain(func(_ context.Context, name string) error {
		if name == "notes__create" {
			_, err := r.Replace(registry.Server{Name: "notes"}, []registry.Tool{serverTool("notes", "create", "")})
			return err
		}
		return nil
	})
	res, err := r.Call(t.Context(), "notes__create", nil)
	assert.OK(t, err)
	assert.Equal(t, textOf(t, res), "notes__create")
	_, err = r.Call(t.Context(), "notes__delete", nil)
	wantError[*registry.NotReadyError](t, err)
}

// An error without an outcome is that of a call that was not sent.
func TestExplainedCallsAreNotSent(t *testing.T) {
	r := registry.New(nil)
	r.Explain(func(context.Context, string) error { return errors.New("no") })
	_, err := r.Call(t.Context(), "x", nil)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome")
}

// A call whose server goes while somebody looks at it goes on waiting.
func TestResumeLearnsWhyThereIsNoTool(t *testing.T) {
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(
		func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask}, nil
		})})
	mustReplace(t, r, "notes", serverTool("notes", "create", ""))
	_, err := r.Call(t.Context(), "notes__create", nil)
	id := wantError[*registry.ApprovalRequiredError](t, err).Request.ID
	mustReplace(t, r, "notes")
	explainAway(r, "notes", nil)
	_, err = r.Approve(t.Context(), id, nil)
	wantError[*registry.NotReadyError](t, err)
	mustReplace(t, r, "notes", serverTool("notes", "create", ""))
	if _, err := r.Approve(t.Context(), id, nil); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

// Middleware may take so long that the server goes meanwhile.
func TestMiddlewareLearnsWhyThereIsNoTool(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "notes", serverTool("notes", "create", ""))
	explainAway(r, "notes", nil)
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			mustReplace(t, r, "notes")
			return next(ctx, call)
		}
	})
	_, err := r.Call(t.Context(), "notes__create", nil)
	wantError[*registry.NotReadyError](t, err)
}

func ExampleRegistry_Explain() {
	r := registry.New(nil)
	stop := r.Explain(func(_ context.Context, name string) error {
		if strings.HasPrefix(name, "notes__") {
			return &registry.NotReadyError{Tool: name, Server: "notes", Reason: "it is being started"}
		}
		return nil
	})
	defer stop()
	_, err := r.Call(context.Background(), "notes__create", nil)
	fmt.Println(err)
	// Output: tool "notes__create": server "notes" is not ready: it is being started
}
