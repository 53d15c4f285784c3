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

// explainNotReady has a registry say of all tools of a server that it is not ready.
func explainNotReady(r *registry.Registry, server string, cause error) (stop func()) {
	return r.Explain(func(_ context.Context, name string) error {
		if strings.HasPrefix(name, server+"__") {
			return &registry.NotReadyError{Tool: name, Server: server, Reason: "it is being started", Err: cause}
		}
		return nil
	})
}

// Whoever names a tool that is not there, by whatever way, learns why.
func TestCallsLearnWhyThereIsNoTool(t *testing.T) {
	r := newRegistry(t, native("clock"))
	mustReplace(t, r, "github", serverTool("github", "create_issue", ""))
	cause := errors.New("the variable SECRET is not set")
	stop := explainNotReady(r, "gitea", cause)
	const said = `tool "gitea__create_issue": server "gitea" is not ready: it is being started`
	_, called := r.Call(t.Context(), "gitea__create_issue", nil)
	_, found := r.Find(t.Context(), "gitea__create_issue")
	for way, err := range map[string]error{"Call": called, "Find": found} {
		assert.Equal(t, wantError[*registry.NotReadyError](t, err).Server, "gitea", "%s: got server", way)
		assert.Is(t, err, cause, "%s", way)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s: got outcome", way)
		assert.Equal(t, err.Error(), said+": "+cause.Error(), "%s", way)
		assert.Equal(t, textOf(t, registry.ErrorResult(err)), said, "%s: got result", way)
	}
	assert.Value(r.Call(t.Context(), "clock", nil))(t)
	stop()
	stop()
	assert.Equal(t, assert.Only(t, suggestions(t, r, "gitea__create_issue").Suggestions), "github__create_issue", "after stop")
}

// The tool that the function adds is called.
func TestExplainMayAddTheTool(t *testing.T) {
	r := registry.New(nil)
	explainNotReady(r, "notes", nil) // is asked after the other, and not at all where that helps
	r.Explain(func(_ context.Context, name string) error {
		if name == "notes__create" {
			_, err := r.Replace(registry.Server{Name: "notes"}, []registry.Tool{serverTool("notes", "create", "")})
			return err
		}
		return nil
	})
	assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), "notes__create", nil))(t)), "notes__create")
	wantError[*registry.NotReadyError](t, assert.Err(r.Call(t.Context(), "notes__delete", nil)))
}

// An error without an outcome is that of a call that was not sent.
func TestExplainedCallsAreNotSent(t *testing.T) {
	r := registry.New(nil)
	r.Explain(func(context.Context, string) error { return errors.New("no") })
	assert.Equal(t, mcp.OutcomeOf(assert.Err(r.Call(t.Context(), "x", nil))), mcp.NotSent, "outcome")
}

// A call whose server goes while a person looks at it goes on waiting.
func TestResumeLearnsWhyThereIsNoTool(t *testing.T) {
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(
		func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
			return approval.Decision{Verdict: approval.Ask}, nil
		})})
	mustReplace(t, r, "notes", serverTool("notes", "create", ""))
	id := wantError[*registry.ApprovalRequiredError](t, assert.Err(r.Call(t.Context(), "notes__create", nil))).Request.ID
	mustReplace(t, r, "notes")
	explainNotReady(r, "notes", nil)
	wantError[*registry.NotReadyError](t, assert.Err(r.Approve(t.Context(), id, nil)))
	mustReplace(t, r, "notes", serverTool("notes", "create", ""))
	assert.Value(r.Approve(t.Context(), id, nil))(t)
}

// Middleware may take so long that the server goes meanwhile.
func TestMiddlewareLearnsWhyThereIsNoTool(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "notes", serverTool("notes", "create", ""))
	explainNotReady(r, "notes", nil)
	r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		mustReplace(t, r, "notes")
		return next(ctx, call)
	}))
	wantError[*registry.NotReadyError](t, assert.Err(r.Call(t.Context(), "notes__create", nil)))
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
	fmt.Println(assert.Err(r.Call(context.Background(), "notes__create", nil)))
	// Output: tool "notes__create": server "notes" is not ready: it is being started
}
