package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// maxRules is how many rules a [Policy] has at most.
const maxRules = 1000

// A Policy is a [registry.Approver] that decides by rules. The first [Rule] that is for a
// call decides it. It does not look at arguments, asks no user and never fails.
//
// The claims of a server that is not trusted about its tools can only make a policy
// stricter. Its tools are judged twice, as what they claim to be and as if they claimed
// nothing, and the stricter verdict counts. So a rule that denies what is destructive
// denies them even if they claim not to be, and a rule that allows what is read-only is
// not for them.
//
// A Policy never changes and is safe for concurrent use. The zero value denies
// everything. Make one with [New] or [Cautious].
type Policy struct {
	rules     []*rule
	byDefault approval.Verdict // of calls that no rule is for
}

// New returns a policy of rules, and of a default for calls that no rule is for.
// It fails with one error for each field of a rule that is wrong, such as a
// pattern that is malformed.
func New(byDefault approval.Verdict, rules ...Rule) (*Policy, error) {
	var faults []error
	if !isVerdict(byDefault) {
		faults = append(faults, fmt.Errorf("policy: default: %v is no verdict: use Deny, Ask, Allow or AllowForConversation", byDefault))
	}
	if len(rules) > maxRules {
		err := fmt.Errorf("policy: there are %d rules, at most %d are allowed: join some by patterns", len(rules), maxRules)
		return nil, errors.Join(append(faults, err)...)
	}
	p := &Policy{byDefault: byDefault}
	for i, r := range rules {
		c, wrong := r.compile(i)
		p.rules = append(p.rules, c)
		faults = append(faults, wrong...)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	return p, nil
}

// Cautious lets calls of tools through that their annotations call
// read-only, if the tool is native or its server trusted, and asks for all
// others: the destructive, those without annotations, and those of servers that are not
// trusted.
func Cautious() *Policy {
	yes, no := true, false
	p, _ := New(approval.Ask, // the rules are tested
		Rule{Verdict: approval.Allow, Trusted: &yes, ReadOnly: &yes},
		Rule{Verdict: approval.Ask, Trusted: &no, Reason: "its server is not trusted"},
		Rule{Verdict: approval.Ask, Annotated: &no, Reason: "it does not say what it does"},
		Rule{Verdict: approval.Ask, Destructive: &yes, Reason: "it may destroy something"},
		Rule{Verdict: approval.Ask, Reason: "it may change something"},
	)
	return p
}

// Approve returns what [Policy.Decide] does. The error is always nil.
func (p *Policy) Approve(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
	return p.Decide(req), nil
}

// Decide returns what becomes of a call. It is a pure function of User, Tool,
// Hints and Trusted.
func (p *Policy) Decide(req *registry.ApprovalRequest) approval.Decision {
	if p == nil || req == nil || req.Tool == nil {
		return approval.Decision{Verdict: approval.Deny, Reason: "there is no policy for it"}
	}
	native := req.Tool.Origin.Server == ""
	s := situation{native, native || req.Trusted, req.Hints}
	if !s.hints.Annotated {
		s.hints = silentHints()
	}
	claimed := p.first(req, s)
	if s.trusted || !s.hints.Annotated {
		return claimed
	}
	s.hints = silentHints()
	if unclaimed := p.first(req, s); unclaimed.Verdict < claimed.Verdict {
		unclaimed.Reason += " (what the tool claims does not count: its server is not trusted)"
		return unclaimed
	}
	return claimed
}

// silentHints returns the hints of a tool that claims nothing.
func silentHints() registry.Hints { return new(registry.Definition).Hints() }

// first returns the decision of the first rule that is for a call.
func (p *Policy) first(req *registry.ApprovalRequest, s situation) approval.Decision {
	for _, r := range p.rules {
		if r.matches(req.User, req.Tool, s) {
			return approval.Decision{Verdict: r.Verdict, Reason: r.why}
		}
	}
	if loosens(p.byDefault) {
		return approval.Decision{Verdict: p.byDefault}
	}
	return approval.Decision{Verdict: p.byDefault, Reason: "no rule of the policy is for it"}
}
