package registry_test

import (
	"fmt"
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
	c := mcp.NewClient(server, s, nil)
	t.Cleanup(func() { _ = c.Close() })
	listed := assert.Value(c.Tools(t.Context()))(t)
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote(server, tool, c.CallTool))
	}
	return tools, &calls
}

// What a server that is not trusted says of its tools spares nobody an approval:
// the call does not reach it, by any of the ready policies and rules.
func TestAnnotationsNeverSpareAnApproval(t *testing.T) {
	policies := map[string]registry.Approver{
		"cautious":        policy.Cautious(),
		"read-only":       mustPolicy(t, approval.Ask, policy.Rule{Verdict: approval.Allow, ReadOnly: ptr(true)}),
		"harmless":        mustPolicy(t, approval.Allow, policy.Rule{Verdict: approval.Ask, Destructive: ptr(true)}),
		"no side effects": mustPolicy(t, approval.Ask, policy.Rule{Verdict: approval.AllowForSession, SideEffects: ptr(false)}),
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
				if _, err := r.Call(t.Context(), "files__claims", nil); err == nil {
					t.Error("the call was made")
				} else {
					wantError[*registry.ApprovalRequiredError](t, err)
				}
				assert.Equal(t, calls.Load(), 0, "calls reached the server")

				// The same claims count if the owner vouches for the server.
				assert.Value(r.Replace(registry.Server{Name: "files", Trusted: true}, tools))(t)
				assert.Value(r.Call(t.Context(), "files__claims", nil))(t)
				assert.Equal(t, calls.Load(), 1, "with trust")
			})
		}
	}
}

func TestCautiousPolicy(t *testing.T) {
	for _, tt := range []struct {
		raw                string
		trusted, untrusted string
	}{
		{`{"readOnlyHint":true}`, "allow ", "ask its server is not trusted"},
		{`{"read_only_hint":true}`, "allow ", "ask its server is not trusted"},
		{``, "ask it does not say what it does", "ask its server is not trusted"},
		{`{"title":"Harmless"}`, "ask it does not say what it does", "ask its server is not trusted"},
		{`{"readOnlyHint":"true"}`, "ask it does not say what it does", "ask its server is not trusted"},
		{`{"readOnlyHint":false}`, "ask it may destroy something", "ask its server is not trusted"},
		{`{"destructiveHint":true}`, "ask it may destroy something", "ask its server is not trusted"},
		{`{"readOnlyHint":true,"destructiveHint":true}`, "ask it may destroy something", "ask its server is not trusted"},
		{`{"destructiveHint":false}`, "ask it may change something", "ask its server is not trusted"},
		{`{"executionTimeHint":"fast"}`, "ask it may destroy something", "ask its server is not trusted"},
	} {
		for _, trusted := range []bool{true, false} {
			d, err := policy.Cautious().Approve(t.Context(), annotated(tt.raw, trusted))
			want := tt.untrusted
			if trusted {
				want = tt.trusted
			}
			assert.Equal(t, fmt.Sprintf("%v %s", d.Verdict, d.Reason), want, "%s, trusted %t", tt.raw, trusted)
			assert.OK(t, err, "%s, trusted %t", tt.raw, trusted)
		}
	}
	req := &registry.ApprovalRequest{Tool: &registry.Definition{Name: "now", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}}
	req.Hints = req.Tool.Hints()
	d, _ := policy.Cautious().Approve(t.Context(), req)
	assert.Equal(t, d.Verdict, approval.Allow, "a native tool that reads")
}

// The decision names the rule, unless that gives a reason.
func TestPolicyReasons(t *testing.T) {
	for _, tt := range []struct {
		byDefault approval.Verdict
		rules     []policy.Rule
		want      string
	}{
		{approval.Deny, nil, "no rule of the policy is for it"},
		{approval.Ask, nil, "no rule of the policy is for it"},
		{approval.Allow, nil, ""},
		{approval.Ask, []policy.Rule{{Server: "other"}, {Tool: "get"}}, "rules[1] of the policy denies it"},
		{approval.Allow, []policy.Rule{{Verdict: approval.Ask}}, "rules[0] of the policy asks the user"},
		{approval.Allow, []policy.Rule{{Reason: "because"}}, "because"},
		{approval.Ask, []policy.Rule{{Verdict: approval.Allow, ReadOnly: ptr(true)}}, "no rule of the policy is for it (what the tool claims does not count: its server is not trusted)"},
	} {
		assert.Equal(t, mustPolicy(t, tt.byDefault, tt.rules...).Decide(annotated(`{"readOnlyHint":true}`, false)).Reason, tt.want, "%v %+v", tt.byDefault, tt.rules)
	}
}

// Without a policy or a call there is nothing to allow.
func TestPolicyOfNothing(t *testing.T) {
	var none *policy.Policy
	allow := mustPolicy(t, approval.Allow)
	for i, d := range []approval.Decision{
		none.Decide(annotated("", true)), new(policy.Policy).Decide(annotated("", true)),
		allow.Decide(nil), allow.Decide(&registry.ApprovalRequest{}),
	} {
		assert.Equal(t, d.Verdict, approval.Deny, "%d", i)
	}
	// Hints that nobody filled in are those of a tool that says nothing.
	p := mustPolicy(t, approval.Allow, policy.Rule{Destructive: ptr(true)})
	assert.Equal(t, p.Decide(&registry.ApprovalRequest{Tool: &registry.Definition{Name: "x"}}).Verdict, approval.Deny, "empty hints")
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
		wantList(t, got, want)
		for _, tool := range r.Snapshot().Tools() {
			name := tool.Definition().Name
			if slices.Contains(want, name) {
				continue
			}
			if _, err := r.Call(ctx, name, nil); err == nil {
				t.Errorf("%s may be called for %q", name, user)
			} else {
				wantError[*approval.DeniedError](t, err)
			}
		}
	}
	assert.Equal(t, calls.Load(), 0, "calls reached the server")

	// Another approver cannot tell before the call.
	all := registry.New(&registry.Options{Approver: registry.ApproverFunc(policy.Approve)})
	mustReplace(t, all, "files", tools...)
	assert.Equal(t, len(all.Callable(t.Context())), 3, "tools")
}
