package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A situation is what the conditions of a rule look at, beside names.
type situation struct {
	native, trusted bool
	hints           Hints
}

// situations returns all that there are. Native tools are always trusted.
func situations() []situation {
	var all []situation
	seen := map[Hints]bool{}
	bools := []claim{{}, {true, true}, {true, false}}
	for _, readOnly := range bools {
		for _, destructive := range bools {
			for _, idempotent := range bools {
				for _, openWorld := range bools {
					for _, sideEffects := range bools {
						for _, time := range []ExecutionTime{"", Fast, Medium, Slow} {
							h := claims{readOnly, destructive, idempotent, openWorld, sideEffects, time}.hints()
							if !seen[h] {
								seen[h] = true
								all = append(all, situation{true, true, h}, situation{false, true, h}, situation{false, false, h})
							}
						}
					}
				}
			}
		}
	}
	return all
}

// hopeless finds the rules that can never do what they say. It takes rules that
// are right in themselves.
func hopeless(rules []*rule) []error {
	var errs []error
	all := situations()
	held := make([][]bool, len(rules)) // by rule and situation
	for i, r := range rules {
		held[i] = make([]bool, len(all))
		some, granting := false, false
		for j, s := range all {
			if r.holds(s) {
				held[i][j], some = true, true
				granting = granting || s.trusted || !s.hints.Annotated
			}
		}
		switch {
		case !some:
			errs = append(errs, r.contradiction(i, all))
		case r.Verdict.loosens() && !granting:
			errs = append(errs, &RuleError{i, "Trusted", errors.New("what tools that are not trusted claim never allows anything: remove the hints, or trust the server")})
		default:
			if by := hidden(rules[:i+1], held, all); by != nil {
				errs = append(errs, &RuleError{Index: i, Err: fmt.Errorf("no call is left over for this rule by %s: move it up, or remove it", nameRules(by))})
			}
		}
	}
	return errs
}

// hidden returns the earlier rules that leave nothing for the last one, or nil.
func hidden(rules []*rule, held [][]bool, all []situation) (by []int) {
	last := len(rules) - 1
	r := rules[last]
	left := slices.Clone(held[last])
	for i, earlier := range rules[:last] {
		shared := [2]bool{} // of servers, native
		for j, s := range all {
			if left[j] && held[i][j] {
				shared[index(s.native)] = true
			}
		}
		covered := [2]bool{shared[0] && r.coveredBy(earlier, false), shared[1] && r.coveredBy(earlier, true)}
		if covered == [2]bool{} {
			continue
		}
		for j, s := range all {
			left[j] = left[j] && !(held[i][j] && covered[index(s.native)])
		}
		by = append(by, i)
		if !slices.Contains(left, true) {
			return by
		}
	}
	return nil
}

func index(native bool) int {
	if native {
		return 1
	}
	return 0
}

// nameRules names rules by their places.
func nameRules(rules []int) string {
	const most = 5
	var names []string
	for _, i := range rules[:min(len(rules), most)] {
		names = append(names, fmt.Sprintf("rules[%d]", i))
	}
	if len(rules) > most {
		return strings.Join(names, ", ") + " and others"
	}
	return strings.Join(names, " and ")
}

// A condition is one of the conditions of a rule, as a rule of its own.
type condition struct {
	field, text string
	rule        Rule
}

func (r *Rule) conditions() []condition {
	var all []condition
	if r.Server != "" {
		all = append(all, condition{"Server", "a Server", Rule{Server: r.Server}})
	}
	flags := r.flags()
	for i, f := range flags {
		if *f.at != nil {
			c := condition{field: f.field, text: fmt.Sprintf("%s: %t", f.field, **f.at)}
			*c.rule.flags()[i].at = *f.at
			all = append(all, c)
		}
	}
	if r.ExecutionTime != "" {
		all = append(all, condition{"ExecutionTime", fmt.Sprintf("ExecutionTime: %q", r.ExecutionTime), Rule{ExecutionTime: r.ExecutionTime}})
	}
	return all
}

// contradiction says which conditions of a rule no tool can meet together.
func (r *rule) contradiction(at int, all []situation) error {
	conditions := r.conditions()
	for j, b := range conditions {
		for _, a := range conditions[:j] {
			if !slices.ContainsFunc(all, func(s situation) bool { return a.rule.holds(s) && b.rule.holds(s) }) {
				return &RuleError{at, b.field, fmt.Errorf("there is no tool with %s and %s: remove one of them, or make two rules", a.text, b.text)}
			}
		}
	}
	var texts []string
	for _, c := range conditions {
		texts = append(texts, c.text)
	}
	return &RuleError{Index: at, Err: fmt.Errorf("there is no tool with %s: remove one of them, or make several rules", strings.Join(texts, ", "))}
}
