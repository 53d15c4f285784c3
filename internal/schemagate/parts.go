package schemagate

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// parts is what is known of the schemas within a schema, beyond what the
// validator needs. It is made when first asked for.
type parts struct {
	root       *Schema
	byLocation map[string]*jsonschema.Schema
	kinds      map[*jsonschema.Schema]kinds
	defaults   []fallback    // of the properties of the root, by name
	simple     *simpleSchema // nil: the schema is not simple
	any        *simpleSchema // in it, where anything goes
}

type partsOnce struct {
	once  sync.Once
	parts *parts
}

// known returns what is known of the parts of s.
func (s *Schema) known() *parts {
	s.parts.once.Do(func() {
		p := &parts{
			root:       s,
			byLocation: map[string]*jsonschema.Schema{},
			kinds:      map[*jsonschema.Schema]kinds{},
			any:        anySchema(),
		}
		p.add(s.compiled)
		for _, sub := range p.byLocation {
			p.kindsOf(sub)
		}
		p.defaults = p.defaultsOf(s.compiled)
		p.simple = p.newSimple(s.compiled)
		s.parts.parts = p
	})
	return s.parts.parts
}

func (p *parts) add(s *jsonschema.Schema) {
	if s == nil || p.byLocation[s.Location] != nil {
		return
	}
	p.byLocation[s.Location] = s
	for _, sub := range children(s) {
		p.add(sub)
	}
}

// children returns the schemas within s, and that which it refers to.
func children(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{
		s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.Contains,
		s.UnevaluatedProperties, s.UnevaluatedItems, s.Items2020,
		one(s.AdditionalProperties), one(s.AdditionalItems), one(s.Items),
	}
	list, _ := s.Items.([]*jsonschema.Schema)
	for _, more := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems, list} {
		subs = append(subs, more...)
	}
	subs = slices.AppendSeq(subs, maps.Values(s.Properties))
	subs = slices.AppendSeq(subs, maps.Values(s.PatternProperties))
	subs = slices.AppendSeq(subs, maps.Values(s.DependentSchemas))
	for _, sub := range s.Dependencies {
		subs = append(subs, one(sub))
	}
	return subs
}

// one returns the schema that a keyword of several forms holds, or nil.
func one(value any) *jsonschema.Schema {
	s, _ := value.(*jsonschema.Schema)
	return s
}

// kinds is a set of kinds of values.
type kinds uint8

const (
	null kinds = 1 << iota
	boolean
	integer
	fraction // a number that is not an integer
	text
	array
	object
	anything = 1<<iota - 1
)

// kindsOf returns the kinds of values that may fit s: never too few.
func (p *parts) kindsOf(s *jsonschema.Schema) kinds {
	if k, ok := p.kinds[s]; ok {
		return k
	}
	k := kinds(anything)
	switch {
	case s.Bool != nil && !*s.Bool:
		k = 0
	case s.Bool == nil:
		k = p.kindsWithin(s)
	}
	p.kinds[s] = k
	return k
}

func (p *parts) kindsWithin(s *jsonschema.Schema) kinds {
	k := kindsOfTypes(s)
	if s.Const != nil {
		k &= kindsOfValue(*s.Const)
	}
	if s.Enum != nil {
		var some kinds
		for _, value := range s.Enum.Values {
			some |= kindsOfValue(value)
		}
		k &= some
	}
	if s.Ref != nil {
		k &= p.kindsOf(s.Ref)
	}
	for _, sub := range s.AllOf {
		k &= p.kindsOf(sub)
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		var some kinds
		for _, sub := range branches {
			some |= p.kindsOf(sub)
		}
		if len(branches) > 0 {
			k &= some
		}
	}
	return k
}

// kindsOfTypes returns the kinds that the keyword type allows.
func kindsOfTypes(s *jsonschema.Schema) kinds {
	if s.Types == nil || s.Types.IsEmpty() {
		return anything
	}
	k := kinds(0)
	for _, name := range s.Types.ToStrings() {
		k |= kindNames[name]
	}
	return k
}

// kindNames are the names of kinds, and of number for both kinds of numbers.
var kindNames = map[string]kinds{
	"null": null, "boolean": boolean, "integer": integer, "number": integer | fraction, "string": text, "array": array, "object": object,
}

func (k kinds) name() string {
	for name, other := range kindNames {
		if k == other {
			return name
		}
	}
	return ""
}

// kindsOfValue returns the kind of a decoded value; of a number that it can be
// either kind.
func kindsOfValue(value any) kinds {
	switch value.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case json.Number:
		return integer | fraction
	case string:
		return text
	case []any:
		return array
	}
	return object
}
