package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/glob"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A Rule is one rule of a [Policy]: what becomes of the calls that it is for. It
// is for those that meet all its conditions; a condition with the zero value is
// met by all.
//
// Server, Tool and User are patterns for whole names, in which case counts: *
// stands for any characters or none, ? for one character, [a-c] for one of these
// and [!a-c] for one of all others, {a,b*} for one of these patterns, and a
// backslash takes the meaning from the character behind it.
//
// The hint conditions look at [registry.Hints], that is at what annotations claim, with the
// defaults of the protocol. See [Policy] for what becomes of the claims of servers
// that are not trusted.
type Rule struct {
	// Verdict is what becomes of the calls. The zero value is [approval.Deny].
	Verdict approval.Verdict
	// Server is a pattern for the configured name of the tool's server. A native
	// tool has none and does not fit any pattern, not even *.
	Server string
	// Tool is a pattern for the name of the tool: its name in the catalogue or the
	// one that it has at its server. The latter is the choice of the server, so a
	// rule that allows looks at it only if it has a Server too; * there means
	// that the tool of that name may be of any server.
	Tool string
	// User is a pattern for the user of [registry.ApprovalRequest]. If no user was named
	// that is the empty text, which * fits.
	User string

	// Native tells native tools (true) from those of servers (false).
	Native *bool
	// Trusted tells tools whose claims are believed, which are those of trusted
	// servers and native ones, from the others.
	Trusted *bool
	// Annotated tells tools with a hint from those without any.
	Annotated *bool
	// ReadOnly is about Hints.ReadOnly.
	ReadOnly *bool
	// Destructive is about Hints.Destructive. Tools that say nothing of it are
	// destructive unless they are read-only.
	Destructive *bool
	// Idempotent is about Hints.Idempotent.
	Idempotent *bool
	// OpenWorld is about Hints.OpenWorld.
	OpenWorld *bool
	// SideEffects is about Hints.SideEffects.
	SideEffects *bool
	// ExecutionTime is about Hints.ExecutionTime: [registry.Fast], [registry.Medium] or [registry.Slow].
	ExecutionTime registry.ExecutionTime

	// Reason becomes that of the [approval.Decision]. Empty: it names the rule.
	Reason string
}

// A situation is what the conditions of a rule look at, beside names.
type situation struct {
	native, trusted bool
	hints           registry.Hints
}

// A rule is a Rule that is ready for use. It is not changed.
type rule struct {
	Rule
	server, tool, user *glob.Pattern // nil: any
	why                string        // the reason of its decisions
}

// compile returns the rule, which keeps nothing of what the caller can change, and
// what is wrong with its fields one by one.
func (r Rule) compile(index int) (*rule, []error) {
	c := &rule{Rule: r, why: r.Reason}
	switch {
	case r.Reason != "":
	case r.Verdict == approval.Deny:
		c.why = fmt.Sprintf("rules[%d] of the policy denies it", index)
	case r.Verdict == approval.Ask:
		c.why = fmt.Sprintf("rules[%d] of the policy asks the user", index)
	}
	for _, condition := range c.conditions() {
		if *condition != nil {
			*condition = new(**condition)
		}
	}
	var errs []error
	fail := func(field string, err error) {
		errs = append(errs, fmt.Errorf("policy: rules[%d].%s: %w", index, field, err))
	}
	if !isVerdict(r.Verdict) {
		fail("Verdict", fmt.Errorf("%v is no verdict: use Deny, Ask, Allow or AllowForConversation", r.Verdict))
	}
	switch r.ExecutionTime {
	case "", registry.Fast, registry.Medium, registry.Slow:
	default:
		fail("ExecutionTime", fmt.Errorf("no tool takes %s: use \"fast\", \"medium\" or \"slow\"", plain.Quote(string(r.ExecutionTime))))
	}
	for _, p := range []struct {
		field, text string
		at          **glob.Pattern
	}{{"Server", r.Server, &c.server}, {"Tool", r.Tool, &c.tool}, {"User", r.User, &c.user}} {
		if p.text == "" {
			continue
		}
		var err error
		if *p.at, err = pattern(p.text); err != nil {
			fail(p.field, fmt.Errorf("the pattern %s %w", plain.Quote(p.text), err))
		}
	}
	return c, errs
}

// pattern compiles a pattern. One that only a name with white space at its end
// could fit is a slip.
func pattern(text string) (*glob.Pattern, error) {
	if strings.TrimSpace(text) != text || strings.ContainsFunc(text, unicode.IsControl) {
		return nil, errors.New("has white space at an end, or control characters, which names do not have: remove them, or write ? for them")
	}
	return glob.Compile(text)
}

// isVerdict reports whether there is such a verdict.
func isVerdict(v approval.Verdict) bool { return v == approval.Deny || v == approval.Ask || loosens(v) }

// loosens reports whether a verdict lets calls through.
func loosens(v approval.Verdict) bool {
	return v == approval.Allow || v == approval.AllowForConversation
}

// conditions returns the fields that hold true, false or nil.
func (r *Rule) conditions() []**bool {
	return []**bool{&r.Native, &r.Trusted, &r.Annotated, &r.ReadOnly, &r.Destructive, &r.Idempotent, &r.OpenWorld, &r.SideEffects}
}

// matches reports whether the rule is for the call of a tool in a situation.
func (r *rule) matches(user string, tool *registry.Definition, s situation) bool {
	return r.holds(s) &&
		(r.server == nil || r.server.Match(tool.Origin.Server)) &&
		(r.user == nil || r.user.Match(user)) &&
		(r.tool == nil || r.tool.Match(tool.Name) || r.byOwnName() && r.tool.Match(tool.Origin.Tool))
}

// byOwnName reports whether the name that a tool has at its server counts.
func (r *rule) byOwnName() bool { return r.server != nil || !loosens(r.Verdict) }

// holds reports whether a situation meets the conditions.
func (r *Rule) holds(s situation) bool {
	return (r.Server == "" || !s.native) &&
		is(r.Native, s.native) &&
		is(r.Trusted, s.trusted) &&
		is(r.Annotated, s.hints.Annotated) &&
		is(r.ReadOnly, s.hints.ReadOnly) &&
		is(r.Destructive, s.hints.Destructive) &&
		is(r.Idempotent, s.hints.Idempotent) &&
		is(r.OpenWorld, s.hints.OpenWorld) &&
		is(r.SideEffects, s.hints.SideEffects) &&
		(r.ExecutionTime == "" || r.ExecutionTime == s.hints.ExecutionTime)
}

func is(want *bool, got bool) bool { return want == nil || *want == got }
