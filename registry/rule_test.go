package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
)

// annotated returns a request for a tool of a server with annotations.
func annotated(raw string, trusted bool) *registry.ApprovalRequest {
	def := &registry.Definition{Name: "files__get", Origin: registry.Origin{Server: "files", Tool: "get"}}
	if raw != "" {
		def.RawAnnotations = json.RawMessage(raw)
	}
	return &registry.ApprovalRequest{Tool: def, Hints: def.Hints(), Trusted: trusted}
}

func mustPolicy(t testing.TB, byDefault registry.Verdict, rules ...registry.Rule) *registry.Policy {
	t.Helper()
	p, err := registry.NewPolicy(byDefault, rules...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A hintRule is a rule with one condition on the hints, and what it says of tools.
type hintRule struct {
	name string
	rule registry.Rule
	fits func(registry.Hints) bool
}

func hintRules() []hintRule {
	var all []hintRule
	for _, want := range []bool{true, false} {
		for _, c := range []struct {
			name string
			rule registry.Rule
			hint func(registry.Hints) bool
		}{
			{"annotated", registry.Rule{Annotated: &want}, func(h registry.Hints) bool { return h.Annotated }},
			{"read-only", registry.Rule{ReadOnly: &want}, func(h registry.Hints) bool { return h.ReadOnly }},
			{"destructive", registry.Rule{Destructive: &want}, func(h registry.Hints) bool { return h.Destructive }},
			{"idempotent", registry.Rule{Idempotent: &want}, func(h registry.Hints) bool { return h.Idempotent }},
			{"open world", registry.Rule{OpenWorld: &want}, func(h registry.Hints) bool { return h.OpenWorld }},
			{"side effects", registry.Rule{SideEffects: &want}, func(h registry.Hints) bool { return h.SideEffects }},
		} {
			all = append(all, hintRule{fmt.Sprintf("%s %t", c.name, want), c.rule, func(h registry.Hints) bool { return c.hint(h) == want }})
		}
	}
	for _, time := range []registry.ExecutionTime{registry.Fast, registry.Medium, registry.Slow} {
		all = append(all, hintRule{"execution time " + string(time), registry.Rule{ExecutionTime: time},
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
		for _, verdict := range []registry.Verdict{registry.Deny, registry.Ask, registry.Allow, registry.AllowForSession} {
			loosens := verdict >= registry.Allow
			byDefault := registry.Deny
			if !loosens {
				byDefault = registry.AllowForSession
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
					if got := policy.Decide(req).Verdict; got != want {
						t.Errorf("%v if %s, byDefault %v; %q, trusted %t: %v, want %v", verdict, c.name, byDefault, raw, trusted, got, want)
					}
				}
			}
		}
	}
}

func TestRuleTrustedAndNative(t *testing.T) {
	native := &registry.ApprovalRequest{Tool: &registry.Definition{Name: "get"}} // it is trusted though nobody says so
	for i, tt := range []struct {
		rule                       registry.Rule
		native, trusted, untrusted bool
	}{
		{registry.Rule{}, true, true, true},
		{registry.Rule{Trusted: ptr(true)}, true, true, false},
		{registry.Rule{Trusted: ptr(false)}, false, false, true},
		{registry.Rule{Native: ptr(true)}, true, false, false},
		{registry.Rule{Native: ptr(false)}, false, true, true},
		{registry.Rule{Server: "*"}, false, true, true},
		{registry.Rule{Server: "files", Trusted: ptr(true)}, false, true, false},
		{registry.Rule{Tool: "get"}, true, false, false}, // that name is the servers' own
		{registry.Rule{Tool: "get", Server: "*"}, false, true, true},
	} {
		tt.rule.Verdict = registry.Allow
		p := mustPolicy(t, registry.Deny, tt.rule)
		for _, c := range []struct {
			name string
			req  *registry.ApprovalRequest
			want bool
		}{{"native", native, tt.native}, {"trusted", annotated("", true), tt.trusted}, {"untrusted", annotated("", false), tt.untrusted}} {
			if got := p.Decide(c.req).Verdict == registry.Allow; got != c.want {
				t.Errorf("%d: %s tool: %t, want %t", i, c.name, got, c.want)
			}
		}
	}
}

func TestRuleNames(t *testing.T) {
	for _, tt := range []struct {
		rule         registry.Rule
		server, tool string
		user         string
		want         bool
	}{
		{registry.Rule{Server: "files"}, "files", "get", "", true},
		{registry.Rule{Server: "files"}, "files2", "get", "", false},
		{registry.Rule{Server: "f*"}, "files", "get", "", true},
		{registry.Rule{Server: "F*"}, "files", "get", "", false},
		{registry.Rule{Server: "{a,files}"}, "files", "get", "", true},
		{registry.Rule{Tool: "get"}, "files", "get", "", true},
		{registry.Rule{Tool: "files__get"}, "files", "get", "", true},
		{registry.Rule{Tool: "files__*"}, "files", "get", "", true},
		{registry.Rule{Tool: "get"}, "files", "set", "", false},
		{registry.Rule{Tool: "[gs]et"}, "files", "set", "", true},
		{registry.Rule{User: "alice"}, "files", "get", "alice", true},
		{registry.Rule{User: "alice"}, "files", "get", "bob", false},
		{registry.Rule{User: "alice"}, "files", "get", "", false},
		{registry.Rule{User: "*"}, "files", "get", "", true},
		{registry.Rule{User: "?*"}, "files", "get", "", false},
		{registry.Rule{User: "*@example.com"}, "files", "get", "ann@example.com", true},
		{registry.Rule{Server: "files", Tool: "get", User: "alice"}, "files", "get", "alice", true},
		{registry.Rule{Server: "files", Tool: "get", User: "alice"}, "files", "get", "bob", false},
		{registry.Rule{Server: "files", Tool: "get", User: "alice"}, "web", "get", "alice", false},
	} {
		req := &registry.ApprovalRequest{User: tt.user, Tool: serverTool(tt.server, tt.tool, "").Definition()}
		want := registry.AllowForSession
		if tt.want {
			want = registry.Deny
		}
		if got := mustPolicy(t, registry.AllowForSession, tt.rule).Decide(req).Verdict; got != want {
			t.Errorf("%+v: %s of %s for %q: %v, want %v", tt.rule, tt.tool, tt.server, tt.user, got, want)
		}
	}
}

// A server cannot name its tool so that a rule for another server's allows it.
func TestRuleNameIsAClaim(t *testing.T) {
	forged := &registry.ApprovalRequest{Tool: serverTool("evil", "github__get", "").Definition()}
	real := &registry.ApprovalRequest{Tool: serverTool("github", "get", "").Definition()}
	for i, tt := range []struct {
		rule         registry.Rule
		forged, real registry.Verdict
	}{
		{registry.Rule{Verdict: registry.Allow, Tool: "github__*"}, registry.Ask, registry.Allow},
		{registry.Rule{Verdict: registry.AllowForSession, Tool: "github__*"}, registry.Ask, registry.AllowForSession},
		{registry.Rule{Verdict: registry.Allow, Tool: "get"}, registry.Ask, registry.Ask},
		{registry.Rule{Verdict: registry.Allow, Server: "github", Tool: "get"}, registry.Ask, registry.Allow},
		{registry.Rule{Verdict: registry.Allow, Server: "github", Tool: "github__get"}, registry.Ask, registry.Allow},
		{registry.Rule{Verdict: registry.Deny, Tool: "github__*"}, registry.Deny, registry.Deny},
		{registry.Rule{Verdict: registry.Deny, Tool: "get"}, registry.Ask, registry.Deny},
	} {
		p := mustPolicy(t, registry.Ask, tt.rule)
		if got := p.Decide(forged).Verdict; got != tt.forged {
			t.Errorf("%d: the forged tool: %v, want %v", i, got, tt.forged)
		}
		if got := p.Decide(real).Verdict; got != tt.real {
			t.Errorf("%d: the real tool: %v, want %v", i, got, tt.real)
		}
	}
}

// fault is what is wrong with one rule, as "index field text".
func fault(err error) string {
	var rule *registry.RuleError
	if !errors.As(err, &rule) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%d %s: %v", rule.Index, rule.Field, rule.Err)
}

func TestRuleErrors(t *testing.T) {
	const ask = registry.Ask
	for _, tt := range []struct {
		want  string
		rules []registry.Rule
	}{
		{"0 Verdict: Verdict(4) is no verdict", []registry.Rule{{Verdict: 4}}},
		{"1 Verdict: Verdict(-1) is no verdict", []registry.Rule{{Server: "a"}, {Verdict: -1}}},
		{"0 ExecutionTime: no tool takes \"quick\"", []registry.Rule{{ExecutionTime: "quick"}}},
		{"0 ExecutionTime: no tool takes \"Fast\"", []registry.Rule{{ExecutionTime: "Fast"}}},

		{"0 Server: the pattern \"a[\" has a [ that is not closed", []registry.Rule{{Server: "a["}}},
		{"0 Tool: the pattern \"{}\" has an alternative that is empty", []registry.Rule{{Tool: "{}"}}},
		{"0 User: the pattern \"[b-a]\" has the range", []registry.Rule{{User: "[b-a]"}}},
		{"0 Tool: the pattern \" get\" has white space", []registry.Rule{{Tool: " get"}}},
		{"0 Server: the pattern \"a \" has white space", []registry.Rule{{Server: "a\n"}}},
		{"0 Tool: the pattern \"a<U+0000>b\" has white space at an end, or control", []registry.Rule{{Tool: "a\x00b"}}},
	} {
		_, err := registry.NewPolicy(registry.Ask, tt.rules...)
		if got := fault(err); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%+v:\n%s, want\n%s", tt.rules, got, tt.want)
		}
	}

	if _, err := registry.NewPolicy(7); fault(err) == "" || !strings.HasPrefix(fault(err), "-1 ") {
		t.Errorf("default 7: %v", err)
	}
	if _, err := registry.NewPolicy(ask, make([]registry.Rule, registry.MaxRules+1)...); !strings.Contains(fault(err), "1001 rules, at most 1000") {
		t.Errorf("too many: %v", err)
	}

	// All of them are reported.
	_, err := registry.NewPolicy(ask, registry.Rule{Server: "["}, registry.Rule{Tool: "]", User: "{"})
	if n := strings.Count(err.Error(), "policy: rules["); n != 3 {
		t.Errorf("%d faults: %v", n, err)
	}
}

// A policy keeps nothing that its maker can change.
func TestPolicyKeepsItsRules(t *testing.T) {
	yes := true
	rules := []registry.Rule{{Verdict: registry.Allow, Trusted: &yes}}
	p := mustPolicy(t, registry.Deny, rules...)
	yes = false
	rules[0] = registry.Rule{}
	if got := p.Decide(annotated("", true)).Verdict; got != registry.Allow {
		t.Errorf("after a change from outside: %v", got)
	}
}

func TestPolicyCheck(t *testing.T) {
	p := mustPolicy(t, registry.Ask, registry.Rule{Server: "github"}, registry.Rule{Server: "n*"}, registry.Rule{Tool: "x"}, registry.Rule{Server: "githbu"}, registry.Rule{Server: "prod-*"})
	if err := p.Check([]string{"github", "notes", "prod-1", "githbu"}); err != nil {
		t.Error(err)
	}
	err := p.Check([]string{"github", "notes"})
	var faults []string
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		faults = append(faults, fault(err))
	}
	want := []string{
		`3 Server: the pattern "githbu" fits none of the 2 servers; did you mean "github"?`,
		`4 Server: the pattern "prod-*" fits none of the 2 servers`,
	}
	if !slices.Equal(faults, want) {
		t.Errorf("faults %q, want %q", faults, want)
	}
	var none *registry.Policy
	if err := none.Check(nil); err != nil {
		t.Error(err)
	}
}
