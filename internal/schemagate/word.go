package schemagate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// word puts one line of a report into words.
func (r *report) word(l line) Problem {
	path, value := place(r.value, l.at)
	s := cmp.Or(r.byLocation[l.err.SchemaURL], new(jsonschema.Schema))
	p := Problem{Path: path}
	switch k := l.err.ErrorKind.(type) {
	case *kind.Required:
		p = r.missing(p, s, l, "")
	case *kind.Dependency:
		p = r.missing(p, s, l, k.Prop)
	case *kind.DependentRequired:
		p = r.missing(p, s, l, k.Prop)
	case *kind.AdditionalProperties:
		owner, _ := value.(map[string]any)
		p = Problem{Path: Member(path, l.member), Got: kindOf(owner[l.member]), Name: l.member, Known: slices.Sorted(maps.Keys(s.Properties))}
	case *kind.PropertyNames:
		p.Path = Member(path, l.member)
		p.Want, p.Got = "a name that is "+describe(s), "another one" // s is that of the names
	case *kind.FalseSchema:
		p = r.notAllowed(p, l, value)
	default:
		p.Want, p.Got = r.wantAndGot(l, s, value)
	}
	return p
}

// missing words that a member is missing.
func (r *report) missing(p Problem, s *jsonschema.Schema, l line, beside string) Problem {
	property := s.Properties[l.member]
	p.Path, p.Want = Member(p.Path, l.member), describe(property)
	switch {
	case beside != "":
		p.Note = "it belongs to " + quote(beside)
	case property != nil:
		p.Note = purpose(property)
	}
	return p
}

// purpose returns what a short description says.
func purpose(s *jsonschema.Schema) string {
	const most = 120
	if s.Description == "" && s.Ref != nil {
		s = s.Ref
	}
	if s.Description == "" || len(s.Description) > most {
		return ""
	}
	return quote(s.Description)
}

// notAllowed words that there may be nothing at a place.
func (r *report) notAllowed(p Problem, l line, value any) Problem {
	if len(l.at) > 0 {
		if _, owner := place(r.value, l.at[:len(l.at)-1]); kindsOfValue(owner) == object {
			return Problem{Path: p.Path, Got: kindOf(value), Name: l.at[len(l.at)-1]}
		}
	}
	p.Want, p.Got = "left out", kindOf(value)
	return p
}

// wantAndGot words all other problems.
func (r *report) wantAndGot(l line, s *jsonschema.Schema, value any) (want, got string) {
	another := strings.Replace(strings.Replace(kindOf(value), "an ", "another ", 1), "a ", "another ", 1)
	switch k := l.err.ErrorKind.(type) {
	case *kind.Type:
		got = plain.Article(k.Got)
		if k.Got == "number" && slices.Contains(k.Want, "integer") {
			got = "a number with a fraction"
		}
		return describe(s), got
	case *kind.Enum:
		if !slices.ContainsFunc(k.Want, func(v any) bool { return kindOf(v) == kindOf(value) }) {
			another = kindOf(value)
		}
		return describe(s), another
	case *kind.Const:
		if kindOf(k.Want) != kindOf(value) {
			another = kindOf(value)
		}
		return describe(s), another
	case *kind.Pattern, *kind.Format, *kind.MultipleOf:
		return describe(s), another
	case *kind.Minimum, *kind.ExclusiveMinimum, *kind.MinLength, *kind.MinItems, *kind.MinProperties:
		return describe(s), "less"
	case *kind.Maximum, *kind.ExclusiveMaximum, *kind.MaxLength, *kind.MaxItems, *kind.MaxProperties:
		return describe(s), "more"
	case *kind.AdditionalItems:
		list, _ := s.Items.([]*jsonschema.Schema)
		return "an array of at most " + count(len(list), "elements"), "more"
	case *kind.UniqueItems:
		return "an array of different elements", fmt.Sprintf("one with equal ones at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "an array with an element that is " + describe(s.Contains), "one without"
	case *kind.MinContains:
		return fmt.Sprintf("an array with at least %d elements that are %s", k.Want, describe(s.Contains)), "one with " + strconv.Itoa(len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("an array with at most %d elements that are %s", k.Want, describe(s.Contains)), "one with " + strconv.Itoa(len(k.Got))
	case *kind.Not:
		return "a value that is not " + describe(s.Not), "one that is"
	case *kind.AnyOf:
		return r.alternatives(s.AnyOf, value, another)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return r.alternatives(s.OneOf, value, another)
		}
		return "only one of " + shortenWords(anyOf(s.OneOf, maxWithin)), "several of them"
	}
	return "a value that fits the schema", "one that does not"
}

// alternatives words that a value fits none of several schemas.
func (r *report) alternatives(branches []*jsonschema.Schema, value any, another string) (want, got string) {
	want = shortenWords(anyOf(branches, maxWithin))
	if want == anyValue {
		want = "a value that fits one of the alternatives"
	}
	for _, s := range branches {
		if r.kinds[s]&kindsOfValue(value) != 0 {
			return want, another
		}
	}
	return want, kindOf(value)
}
