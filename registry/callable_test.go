package registry_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// claimingTools returns the tools of a server that says of them what it likes:
// "claims" is said to be read-only, "destroys" to destroy, "silent" nothing. Calls
// are counted.
func claimingTools(t *testing.T, server, revision string) ([]registry.Tool, *atomic.Int32) {
	t.Helper()
	var calls atomic.Int32
	s := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[
			{"name":"claims","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"side_effects_hint":false,"executionTimeHint":"fast"}},
			{"name":"destroys","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},
			{"name":"silent","inputSchema":{"type":"object"}}]}`),
		"tools/call": func(c *mcptest.Call) {
			calls.Add(1)
			c.Result(`{"content":[]}`)
		},
	})
	return remotes(t, server, newClient(t, server, s)), &calls
}

// What a server that is not trusted says of its tools spares nobody an approval:
// the call does not reach it, by any of the ready policies and rules.
func TestAnnotationsNeverSpareAnApproval(t *testing.T) {
	policies := map[string]registry.Approver{
		"cautious":        policy.Cautious(),
		"read-only":       mustPolicy(t, approval.Ask, policy.Rule{Verdict: approval.Allow, ReadOnly: ptr(true)}),
		"harmless":        mustPolicy(t, approval.Allow, policy.Rule{Verdict: approval.Ask, Destructive: ptr(true)}),
		"no side effects": mustPolicy(t, approval.Ask, policy.Rule{Verdict: approval.AllowForConversation, SideEffects: ptr(false)}),
		"fast":            mustPolicy(t, approval.Ask, policy.Rule{Verdict: approval.Allow, ExecutionTime: registry.Fast}),
		"annotated":       mustPolicy(t, approval.Ask, policy.Rule{Verdict: approval.Allow, Annotated: ptr(true)}),
		"order":           mustPolicy(t, approval.Deny, policy.Rule{Verdict: approval.Allow, Destructive: ptr(false)}, policy.Rule{Verdict: approval.Ask}),
	}
	for name, policy := range policies {
		for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
			t.Run(name+"/"+revision, func(t *testing.T) {
				tools, calls := claimingTools(t, "files", revision)
				r := registry.New(&registry.Options{Approver: policy})
				mustReplace(t, r, "files", tools...)
				wantError[*registry.ApprovalRequiredError](t, assert.Err(r.Call(t.Context(), "files__claims", nil)))
				assert.Equal(t, calls.Load(), 0, "calls reached the server")

				// The same claims count if the owner vouches for the server.
				assert.Value(r.Replace(registry.Server{Name: "files", Trusted: true}, tools))(t)
				assert.Value(r.Call(t.Context(), "files__claims", nil))(t)
				assert.Equal(t, calls.Load(), 1, "with trust")
			})
		}
	}
}

// What is denied is neither shown nor called; what has to be asked for is shown.
func TestCallable(t *testing.T) {
	tools, calls := claimingTools(t, "files", mcp.Revision20251125)
	policy := mustPolicy(t, approval.Allow,
		policy.Rule{Verdict: approval.Deny, User: "guest", Tool: "silent"},
		policy.Rule{Verdict: approval.Deny, Native: ptr(false), Annotated: ptr(true), Destructive: ptr(true)},
		policy.Rule{Verdict: approval.Ask, Tool: "claims"},
	)
	r := registry.New(&registry.Options{Approver: policy})
	mustReplace(t, r, "files", tools...)
	mustAdd(t, r, native("now"))
	for user, want := range map[string][]string{
		"":      {"files__claims", "files__silent", "now"},
		"alice": {"files__claims", "files__silent", "now"},
		"guest": {"files__claims", "now"},
	} {
		ctx := onbehalf.With(t.Context(), user)
		var got []string
		for _, tool := range r.Callable(ctx) {
			got = append(got, tool.Definition().Name)
		}
		assert.List(t, got, want, "%q is shown", user)
		for _, name := range listedNames(r.Snapshot()) {
			if !slices.Contains(want, name) {
				wantError[*approval.DeniedError](t, assert.Err(r.Call(ctx, name, nil)))
			}
		}
	}
	assert.Equal(t, calls.Load(), 0, "calls reached the server")

	// Another approver cannot tell before the call.
	all := registry.New(&registry.Options{Approver: registry.ApproverFunc(policy.Approve)})
	mustReplace(t, all, "files", tools...)
	assert.Equal(t, len(all.Callable(t.Context())), 3, "tools")
}
