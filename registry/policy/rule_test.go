// Tests of rule.go and policy.go: what rules say of calls.

package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// A hintRule is a rule with one condition on the hints, and what it says of tools.
type hintRule struct {
	name string
	rule policy.Rule
	fits func(registry.Hints) bool
}

func hintRules() []hintRule {
	var all []hintRule
	for _, want := range []bool{true, false} {
		for _, c := range []struct {
			name string
			rule policy.Rule
			hint func(registry.Hints) bool
		}{
			{"annotated", policy.Rule{Annotated: &want}, func(h registry.Hints) bool { return h.Annotated }},
			{"read-only", policy.Rule{ReadOnly: &want}, func(h registry.Hints) bool { return h.ReadOnly }},
			{"destructive", policy.Rule{Destructive: &want}, func(h registry.Hints) bool { return h.Destructive }},
			{"idempotent", policy.Rule{Idempotent: &want}, func(h registry.Hints) bool { return h.Idempotent }},
			{"open world", policy.Rule{OpenWorld: &want}, func(h registry.Hints) bool { return h.OpenWorld }},
			{"side effects", policy.Rule{SideEffects: &want}, func(h registry.Hints) bool { return h.SideEffects }},
		} {
			all = append(all, hintRule{fmt.Sprintf("%s %t", c.name, want), c.rule, func(h registry.Hints) bool { return c.hint(h) == want }})
		}
	}
	for _, time := range []registry.ExecutionTime{registry.Fast, registry.Medium, registry.Slow} {
		all = append(all, hintRule{"execution time " + string(time), policy.Rule{ExecutionTime: time},
			func(h registry.Hints) bool { return h.ExecutionTime == time }})
	}
	return all
}

// annotations are examples of each hint, said and not said.
func annotations() []string {
	return []string{
		"", "{}",
		`{"readOnlyHint":true}`, `{"readOnlyHint":false}`,
		`{"destructiveHint":true}`, `{"destructiveHint":false}`,
		`{"idempotentHint":true}`, `{"idempotentHint":false}`,
		`{"openWorldHint":true}`, `{"openWorldHint":false}`,
		`{"sideEffectsHint":true}`, `{"sideEffectsHint":false}`,
		`{"executionTimeHint":"fast"}`, `{"executionTimeHint":"medium"}`, `{"executionTimeHint":"slow"}`,
		`{"readOnlyHint":true,"openWorldHint":false,"executionTimeHint":"fast"}`,
		`{"destructiveHint":false,"idempotentHint":true,"sideEffectsHint":false}`,
	}
}

// Each condition holds by what is claimed, and of tools that are not trusted also
// by what would hold if they claimed nothing: both must hold to allow, one is
// enough to deny or ask.
func TestRuleHints(t *testing.T) {
	nothing := (&registry.Definition{}).Hints()
	for _, c := range hintRules() {
		for _, verdict := range []approval.Verdict{approval.Deny, approval.Ask, approval.Allow, approval.AllowForConversation} {
			loosens := verdict >= approval.Allow
			byDefault := approval.Deny
			if !loosens {
				byDefault = approval.AllowForConversation
			}
			rule := c.rule
			rule.Verdict = verdict
			policy := mustPolicy(t, byDefault, rule)
			for _, raw := range annotations() {
				for _, trusted := range []bool{true, false} {
					req := annotated(raw, trusted)
					fits := c.fits(req.Hints)
					if !trusted && loosens {
						fits = fits && c.fits(nothing)
					} else if !trusted {
						fits = fits || c.fits(nothing)
					}
					want := byDefault
					if fits {
						want = verdict
					}
					assert.Equal(t, policy.Decide(req).Verdict, want, "%v if %s, byDefault %v; %q, trusted %t", verdict, c.name, byDefault, raw, trusted)
				}
			}
		}
	}
}

func TestRuleTrustedAndNative(t *testing.T) {
	native := &registry.ApprovalRequest{Tool: &registry.Definition{Name: "get"}} // it is trusted though nobody says so
	for i, tt := range []struct {
		rule                       policy.Rule
		native, trusted, untrusted bool
	}{
		{policy.Rule{}, true, true, true},
		{policy.Rule{Trusted: ptr(true)}, true, true, false},
		{policy.Rule{Trusted: ptr(false)}, false, false, true},
		{policy.Rule{Native: ptr(true)}, true, false, false},
		{policy.Rule{Native: ptr(false)}, false, true, true},
		{policy.Rule{Server: "*"}, false, true, true},
		{policy.Rule{Server: "files", Trusted: ptr(true)}, false, true, false},
		{policy.Rule{Tool: "get"}, true, false, false}, // that name is the servers' own
		{policy.Rule{Tool: "get", Server: "*"}, false, true, true},
	} {
		tt.rule.Verdict = approval.Allow
		p := mustPolicy(t, approval.Deny, tt.rule)
		for _, c := range []struct {
			name string
			req  *registry.ApprovalRequest
			want bool
		}{{"native", native, tt.native}, {"trusted", annotated("", true), tt.trusted}, {"untrusted", annotated("", false), tt.untrusted}} {
			assert.Equal(t, p.Decide(c.req).Verdict == approval.Allow, c.want, "%d: %s tool", i, c.name)
		}
	}
}

func TestRuleNames(t *testing.T) {
	for _, tt := range []struct {
		rule               policy.Rule
		server, tool, user string
		want               bool
	}{
		{policy.Rule{Server: "files"}, "files", "get", "", true},
		{policy.Rule{Server: "files"}, "files2", "get", "", false},
		{policy.Rule{Server: "f*"}, "files", "get", "", true},
		{policy.Rule{Server: "F*"}, "files", "get", "", false},
		{policy.Rule{Server: "{a,files}"}, "files", "get", "", true},
		{policy.Rule{Tool: "get"}, "files", "get", "", true},
		{policy.Rule{Tool: "files__get"}, "files", "get", "", true},
		{policy.Rule{Tool: "files__*"}, "files", "get", "", true},
		{policy.Rule{Tool: "get"}, "files", "set", "", false},
		{policy.Rule{Tool: "[gs]et"}, "files", "set", "", true},
		{policy.Rule{User: "alice"}, "files", "get", "alice", true},
		{policy.Rule{User: "alice"}, "files", "get", "bob", false},
		{policy.Rule{User: "alice"}, "files", "get", "", false},
		{policy.Rule{User: "*"}, "files", "get", "", true},
		{policy.Rule{User: "?*"}, "files", "get", "", false},
		{policy.Rule{User: "*@example.com"}, "files", "get", "ann@example.com", true},
		{policy.Rule{Server: "files", Tool: "get", User: "alice"}, "files", "get", "alice", true},
		{policy.Rule{Server: "files", Tool: "get", User: "alice"}, "files", "get", "bob", false},
		{policy.Rule{Server: "files", Tool: "get", User: "alice"}, "web", "get", "alice", false},
	} {
		req := &registry.ApprovalRequest{User: tt.user, Tool: toolDefinition(tt.server, tt.tool)}
		want := approval.AllowForConversation
		if tt.want {
			want = approval.Deny
		}
		assert.Equal(t, mustPolicy(t, approval.AllowForConversation, tt.rule).Decide(req).Verdict, want, "%+v: %s of %s for %q", tt.rule, tt.tool, tt.server, tt.user)
	}
}

// A server cannot name its tool so that a rule for another server's allows it.
func TestRuleNameIsAClaim(t *testing.T) {
	forged := &registry.ApprovalRequest{Tool: toolDefinition("evil", "github__get")}
	real := &registry.ApprovalRequest{Tool: toolDefinition("github", "get")}
	for i, tt := range []struct {
		rule         policy.Rule
		forged, real approval.Verdict
	}{
		{policy.Rule{Verdict: approval.Allow, Tool: "github__*"}, approval.Ask, approval.Allow},
		{policy.Rule{Verdict: approval.AllowForConversation, Tool: "github__*"}, approval.Ask, approval.AllowForConversation},
		{policy.Rule{Verdict: approval.Allow, Tool: "get"}, approval.Ask, approval.Ask},
		{policy.Rule{Verdict: approval.Allow, Server: "github", Tool: "get"}, approval.Ask, approval.Allow},
		{policy.Rule{Verdict: approval.Allow, Server: "github", Tool: "github__get"}, approval.Ask, approval.Allow},
		{policy.Rule{Verdict: approval.Deny, Tool: "github__*"}, approval.Deny, approval.Deny},
		{policy.Rule{Verdict: approval.Deny, Tool: "get"}, approval.Ask, approval.Deny},
	} {
		p := mustPolicy(t, approval.Ask, tt.rule)
		assert.Equal(t, p.Decide(forged).Verdict, tt.forged, "%d: the forged tool", i)
		assert.Equal(t, p.Decide(real).Verdict, tt.real, "%d: the real tool", i)
	}
}

func TestRuleErrors(t *testing.T) {
	const ask = approval.Ask
	for _, tt := range []struct {
		want  string
		rules []policy.Rule
	}{
		{"policy: rules[0].Verdict: Verdict(4) is no verdict", []policy.Rule{{Verdict: 4}}},
		{"policy: rules[1].Verdict: Verdict(-1) is no verdict", []policy.Rule{{Server: "a"}, {Verdict: -1}}},
		{"policy: rules[0].ExecutionTime: no tool takes \"quick\"", []policy.Rule{{ExecutionTime: "quick"}}},
		{"policy: rules[0].ExecutionTime: no tool takes \"Fast\"", []policy.Rule{{ExecutionTime: "Fast"}}},

		{"policy: rules[0].Server: the pattern \"a[\" has a [ that is not closed", []policy.Rule{{Server: "a["}}},
		{"policy: rules[0].Tool: the pattern \"{}\" has an alternative that is empty", []policy.Rule{{Tool: "{}"}}},
		{"policy: rules[0].User: the pattern \"[b-a]\" has the range", []policy.Rule{{User: "[b-a]"}}},
		{"policy: rules[0].Tool: the pattern \" get\" has white space", []policy.Rule{{Tool: " get"}}},
		{"policy: rules[0].Server: the pattern \"a\\n\" has white space", []policy.Rule{{Server: "a\n"}}},
		{"policy: rules[0].Tool: the pattern \"a\\x00b\" has white space at an end, or control", []policy.Rule{{Tool: "a\x00b"}}},
	} {
		_, err := policy.New(approval.Ask, tt.rules...)
		assert.True(t, strings.HasPrefix(fmt.Sprint(err), tt.want), "%q: got the error", fmt.Sprintf("%+v", tt.rules))
	}

	_, err := policy.New(7)
	assert.Contains(t, err.Error(), "policy: default", "default 7")
	assert.Contains(t, assert.Err(policy.New(ask, make([]policy.Rule, 1001)...)).Error(), "1001 rules, at most 1000", "too many")

	// All of them are reported.
	_, err = policy.New(ask, policy.Rule{Server: "["}, policy.Rule{Tool: "]", User: "{"})
	assert.Equal(t, strings.Count(err.Error(), "policy: rules["), 3, "faults: %v", err)
}

// A policy keeps nothing that its maker can change.
func TestPolicyKeepsItsRules(t *testing.T) {
	yes := true
	rules := []policy.Rule{{Verdict: approval.Allow, Trusted: &yes}}
	p := mustPolicy(t, approval.Deny, rules...)
	yes = false
	rules[0] = policy.Rule{}
	assert.Equal(t, p.Decide(annotated("", true)).Verdict, approval.Allow, "after a change from outside")
}

func TestCautiousPolicy(t *testing.T) {
	for _, tt := range []struct{ raw, trusted, untrusted string }{
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
