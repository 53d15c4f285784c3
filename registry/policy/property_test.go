// Tests of policy.go, rule.go and parse.go with rules that are made up.

package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// pick returns one of the values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func randomRule(r *rand.Rand) Rule {
	rule := Rule{
		Verdict:       pick(r, approval.Deny, approval.Ask, approval.Allow, approval.AllowForConversation),
		Server:        pick(r, "", "", "", "a", "b", "*", "?"),
		Tool:          pick(r, "", "", "", "x", "a__x", "*x", "?", "*"),
		User:          pick(r, "", "", "", "u", "*"),
		ExecutionTime: pick(r, "", "", "", "", registry.Fast, registry.Slow),
	}
	for _, condition := range rule.conditions() {
		if r.IntN(4) == 0 {
			value := r.IntN(2) == 0
			*condition = &value
		}
	}
	return rule
}

// compiled returns a policy of rules that nobody checked.
func compiled(t *testing.T, byDefault approval.Verdict, rules []Rule) *Policy {
	t.Helper()
	p := &Policy{byDefault: byDefault}
	for i, rule := range rules {
		c, errs := rule.compile(i)
		assert.Equal(t, len(errs), 0, "faults")
		p.rules = append(p.rules, c)
	}
	return p
}

func randomRules(r *rand.Rand) []Rule {
	var rules []Rule
	for range 1 + r.IntN(6) {
		rules = append(rules, randomRule(r))
	}
	return rules
}

func randomAnnotations(r *rand.Rand) json.RawMessage {
	text := `{"title":"T"`
	for _, key := range []string{
		"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "sideEffectsHint",
		"read_only_hint", "destructive_hint",
	} {
		if r.IntN(3) == 0 {
			text += fmt.Sprintf(`,%q:%s`, key, pick(r, "true", "false", `"true"`, "null"))
		}
	}
	if r.IntN(3) == 0 {
		text += fmt.Sprintf(`,"executionTimeHint":%q`, pick(r, "fast", "medium", "slow", "never"))
	}
	return json.RawMessage(text + "}")
}

// callsTo returns requests for all names that the random rules tell apart.
func callsTo(raw json.RawMessage, trusted bool) []*registry.ApprovalRequest {
	var calls []*registry.ApprovalRequest
	for _, user := range []string{"", "u", "w"} {
		for _, server := range []string{"", "a", "b", "cc"} {
			for _, tool := range []string{"x", "y", "zx", "zz", "a__x"} {
				def := &registry.Definition{Name: tool, RawAnnotations: raw}
				if server != "" {
					def.Name, def.Origin = server+"__"+tool, registry.Origin{Server: server, Tool: tool}
				}
				calls = append(calls, &registry.ApprovalRequest{User: user, Tool: def, Hints: def.Hints(), Trusted: trusted || server == ""})
			}
		}
	}
	return calls
}

// Whatever a server that is not trusted says of its tools, no policy is looser
// than if it said nothing.
func TestClaimsNeverLoosen(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	stricter, believed := 0, 0
	silent := callsTo(nil, false)
	for range assert.Cases(100, 600) {
		p := compiled(t, pick(r, approval.Deny, approval.Ask, approval.Allow, approval.AllowForConversation), randomRules(r))
		raw := randomAnnotations(r)
		for i, claiming := range callsTo(raw, false) {
			got, bound := p.Decide(claiming).Verdict, p.Decide(silent[i]).Verdict
			switch {
			case claiming.Trusted: // it is native
				if got > bound {
					believed++
				}
			case got > bound:
				t.Fatalf("%+v %s: %v, and without the claims %v", claiming.Tool, raw, got, bound)
			case got < bound:
				stricter++
			}
		}
	}
	assert.False(t, stricter == 0, "%d verdicts are stricter by claims of strangers, %d are looser by believed ones", stricter, believed)
	assert.False(t, believed == 0, "%d verdicts are stricter by claims of strangers, %d are looser by believed ones", stricter, believed)
}
