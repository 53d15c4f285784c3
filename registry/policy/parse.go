package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// Parse reads a policy that people write: JSON, with comments and trailing
// commas if they like.
//
//	{
//	  // The first rule that is for a call decides it.
//	  "rules": [
//	    {"verdict": "deny", "server": "prod-*", "destructive": true, "reason": "not in production"},
//	    {"verdict": "allow", "server": "github", "tool": "{get,list}_*"},
//	    {"verdict": "allow_for_session", "read_only": true, "trusted": true},
//	  ],
//	  // The verdict on a call that no rule is for. There must be one.
//	  "default": "ask",
//	}
//
// The verdicts are "deny", "ask", "allow" and "allow_for_session". The keys of a
// rule are the names of the fields of [Rule] with a small first letter; those of
// two words may be written read_only as well as readOnly, and those of hints with
// Hint or _hint behind them, as in annotations.
//
// Nothing is passed over: a key that is not known or comes twice, a value of
// another type, even null or an empty pattern, is an error, for an ignored rule protects
// no user. So is all that [New] refuses. Each fault says where it is; several are
// joined, in the order of the file.
func Parse(data []byte) (*Policy, error) {
	doc, err := jsonc.Parse(data)
	if err != nil {
		if syntax, ok := errors.AsType[*jsonc.SyntaxError](err); ok {
			return nil, &ruleError{line: syntax.Line, column: syntax.Column, key: string(syntax.Path), index: -1, err: errors.New(syntax.Message)}
		}
		return nil, &ruleError{line: 1, column: 1, index: -1, err: err}
	}
	f := &policyFile{doc: doc}
	f.read(&doc.Root)
	if f.faults == nil {
		p, faults := newPolicy(f.byDefault, f.rules)
		if faults == nil {
			return p, nil
		}
		for _, fault := range faults {
			f.locate(fault)
		}
	}
	slices.SortStableFunc(f.faults, func(a, b *ruleError) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return nil, joined(f.faults)
}

// A policyFile is a policy that is being read.
type policyFile struct {
	doc       *jsonc.Document
	byDefault approval.Verdict
	rules     []Rule
	places    []map[string]place // by rule and field; "" is the rule
	faults    []*ruleError
}

// A place is where something stands.
type place struct {
	offset int
	path   jsonc.Path
}

func (f *policyFile) fail(at place, err error) { f.note(at, &ruleError{index: -1, err: err}) }

// note notes a fault of what stands at a place.
func (f *policyFile) note(at place, fault *ruleError) {
	pos := f.doc.Position(at.offset)
	fault.line, fault.column, fault.key = pos.Line, pos.Column, string(at.path)
	f.faults = append(f.faults, fault)
}

// locate notes a fault that New has found where the rule stands.
func (f *policyFile) locate(fault *ruleError) {
	at := place{f.doc.Root.Offset, ""}
	if fault.index >= 0 && fault.index < len(f.places) {
		at = f.places[fault.index][""]
		if field, ok := f.places[fault.index][fault.field]; ok {
			at = field
		}
	}
	f.note(at, fault)
}

// is reports whether a value is of the kind that it must be, and notes a fault if
// it is not.
func (f *policyFile) is(n *jsonc.Node, path jsonc.Path, want jsonc.Kind) bool {
	if n.Kind == want {
		return true
	}
	f.fail(place{n.Offset, path}, fmt.Errorf("must be %v, not %v", want, n.Kind))
	return false
}

func (f *policyFile) unknown(m *jsonc.Member, path jsonc.Path, known []string) {
	err := errors.New("there is no such key; there are " + strings.Join(known, ", "))
	if near := nearest.Names(m.Key, known, 1); len(near) > 0 {
		err = fmt.Errorf("there is no such key; did you mean %q?", near[0])
	}
	f.fail(place{m.Offset, path}, err)
}

func (f *policyFile) read(root *jsonc.Node) {
	if !f.is(root, "", jsonc.Object) {
		return
	}
	for i := range root.Members {
		m := &root.Members[i]
		path := jsonc.Path("").Key(m.Key)
		switch m.Key {
		case "rules":
			if f.is(&m.Value, path, jsonc.Array) {
				for j := range m.Value.Elems {
					f.rule(&m.Value.Elems[j], path.Index(j))
				}
			}
		case "default":
			f.byDefault = f.verdict(&m.Value, path)
		default:
			f.unknown(m, path, []string{"rules", "default"})
		}
	}
	if root.Member("default") == nil && f.faults == nil { // or a slip may be what is missing
		f.fail(place{root.Offset, ""}, errors.New(`"default" is missing: say what becomes of calls that no rule is for, such as "default": "ask"`))
	}
}

func (f *policyFile) verdict(n *jsonc.Node, path jsonc.Path) approval.Verdict {
	if !f.is(n, path, jsonc.String) {
		return approval.Deny
	}
	for v := approval.Deny; isVerdict(v); v++ {
		if n.Text == v.String() {
			return v
		}
	}
	f.fail(place{n.Offset, path}, errors.New(`there is no such verdict: use "deny", "ask", "allow" or "allow_for_session"`))
	return approval.Deny
}

func (f *policyFile) rule(n *jsonc.Node, path jsonc.Path) {
	if !f.is(n, path, jsonc.Object) {
		return
	}
	var r Rule
	places := map[string]place{"": {n.Offset, path}}
	for i := range n.Members {
		m := &n.Members[i]
		path := path.Key(m.Key)
		field := fieldOf(m.Key)
		if _, twice := places[field]; twice && field != "" {
			f.fail(place{m.Offset, path}, errors.New("says again what another key of the rule says: remove one of them"))
			continue
		}
		if field == "" {
			f.unknown(m, path, keys())
			continue
		}
		places[field] = place{m.Value.Offset, path}
		f.field(&r, field, &m.Value, path)
	}
	if _, ok := places["Verdict"]; !ok {
		f.fail(place{n.Offset, path}, errors.New(`"verdict" is missing: use "deny", "ask", "allow" or "allow_for_session"`))
	}
	f.rules = append(f.rules, r)
	f.places = append(f.places, places)
}

// field reads the value of one field.
func (f *policyFile) field(r *Rule, field string, n *jsonc.Node, path jsonc.Path) {
	text := func() string {
		if f.is(n, path, jsonc.String) && n.Text == "" {
			f.fail(place{n.Offset, path}, errors.New("is empty: remove the key"))
		}
		return n.Text
	}
	switch field {
	case "Verdict":
		r.Verdict = f.verdict(n, path)
	case "Server":
		r.Server = text()
	case "Tool":
		r.Tool = text()
	case "User":
		r.User = text()
	case "ExecutionTime":
		r.ExecutionTime = registry.ExecutionTime(text())
	case "Reason":
		r.Reason = text()
	default:
		if f.is(n, path, jsonc.Bool) {
			value := n.Text == "true"
			flags := r.flags()
			i := slices.IndexFunc(flags, func(f flag) bool { return f.field == field })
			*flags[i].at = &value
		}
	}
}

// keys returns the keys of a rule, as in the tags of Rule.
func keys() []string {
	return []string{
		"verdict", "server", "tool", "user", "native", "trusted", "annotated",
		"readOnly", "destructive", "idempotent", "openWorld", "sideEffects", "executionTime", "reason",
	}
}

// fieldOf returns the field of Rule that a key stands for, or "".
func fieldOf(key string) string {
	for i, k := range keys() {
		if key == k || key == snakeCase(k) {
			return strings.ToUpper(k[:1]) + k[1:]
		}
		const firstHint, lastHint = 7, 12
		if i >= firstHint && i <= lastHint && (key == k+"Hint" || key == snakeCase(k)+"_hint") {
			return strings.ToUpper(k[:1]) + k[1:]
		}
	}
	return ""
}

// snakeCase returns read_only for readOnly.
func snakeCase(camel string) string {
	var text strings.Builder
	for _, r := range camel {
		if 'A' <= r && r <= 'Z' {
			text.WriteByte('_')
			r += 'a' - 'A'
		}
		text.WriteRune(r)
	}
	return text.String()
}

// MarshalJSON returns the policy in the format of [Parse], without what
// people wrote beside it.
func (p *Policy) MarshalJSON() ([]byte, error) {
	file := struct {
		Rules   []Rule           `json:"rules"`
		Default approval.Verdict `json:"default"`
	}{Rules: []Rule{}}
	if p != nil {
		file.Default = p.byDefault
		for _, r := range p.rules {
			file.Rules = append(file.Rules, r.Rule)
		}
	}
	return json.Marshal(file)
}
