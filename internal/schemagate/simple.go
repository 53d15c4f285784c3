package schemagate

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// mostDigits is how many digits an int64 holds, whatever they are.
const mostDigits = 18

// A simpleSchema uses only keywords that can be checked in one pass over the JSON, as
// most schemas of tools do. A value that it accepts fits; the validator has to judge any other, and finds the words for what is wrong.
type simpleSchema struct {
	kinds       kinds
	words       map[string]bool // nil: every string
	least, most *int64          // of an integer

	members  map[string]simpleMember
	required int           // how many of the members are
	rest     *simpleSchema // for other members; nil: the validator judges
	open     bool          // to all objects
	elements *simpleSchema // nil: the validator judges
}

type simpleMember struct {
	schema   *simpleSchema // nil: the validator judges
	required bool
}

// anySchema returns the schema that accepts everything, but for long numbers.
func anySchema() *simpleSchema {
	s := &simpleSchema{kinds: anything, open: true}
	s.rest, s.elements = s, s
	return s
}

// newSimple returns a schema as a simple one, or nil if it is none.
func (p *parts) newSimple(s *jsonschema.Schema) *simpleSchema {
	switch {
	case s == nil || s.Bool != nil && *s.Bool:
		return p.any
	case s.Bool != nil, s.Ref != nil, s.RecursiveRef != nil, s.DynamicRef != nil, s.Not != nil, s.If != nil,
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0, s.Format != nil, len(s.Extensions) > 0,
		s.MaxProperties != nil, s.MinProperties != nil, s.PropertyNames != nil, len(s.PatternProperties) > 0,
		len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0,
		s.UnevaluatedProperties != nil, s.UnevaluatedItems != nil, s.UniqueItems, s.Contains != nil,
		s.AdditionalItems != nil, len(s.PrefixItems) > 0, s.Pattern != nil,
		s.ContentEncoding != nil, s.ContentMediaType != nil, s.ContentSchema != nil,
		s.ExclusiveMaximum != nil, s.ExclusiveMinimum != nil, s.MultipleOf != nil, s.MinLength != nil, s.MaxLength != nil, s.MinItems != nil, s.MaxItems != nil:
		return nil
	}
	out := &simpleSchema{kinds: kindsOfTypes(s)}
	if !out.addWords(s) || !addBound(&out.least, s.Minimum) || !addBound(&out.most, s.Maximum) || !p.addElements(out, s) {
		return nil
	}
	p.addMembers(out, s)
	out.open = out.kinds&object != 0 && out.rest == p.any && len(out.members) == 0
	return out
}

// addWords adds the strings that are allowed.
func (s *simpleSchema) addWords(schema *jsonschema.Schema) bool {
	var values []any
	switch {
	case schema.Enum != nil && schema.Const != nil:
		return false
	case schema.Enum != nil:
		values = schema.Enum.Values
	case schema.Const != nil:
		values = []any{*schema.Const}
	default:
		return true
	}
	s.words = make(map[string]bool, len(values))
	for _, value := range values {
		word, ok := value.(string)
		if !ok {
			return false
		}
		s.words[word] = true
	}
	s.kinds &= text
	return true
}

func addBound(to **int64, bound *big.Rat) bool {
	if bound == nil {
		return true
	}
	*to = new(bound.Num().Int64())
	return bound.IsInt() && bound.Num().IsInt64()
}

func (p *parts) addElements(s *simpleSchema, schema *jsonschema.Schema) bool {
	switch items := schema.Items.(type) {
	case nil:
		s.elements = p.newSimple(schema.Items2020)
	case *jsonschema.Schema:
		s.elements = p.newSimple(items)
	default:
		return false
	}
	return true
}

func (p *parts) addMembers(s *simpleSchema, schema *jsonschema.Schema) {
	switch rest := schema.AdditionalProperties.(type) {
	case nil:
		s.rest = p.any
	case bool:
		if rest {
			s.rest = p.any
		}
	case *jsonschema.Schema:
		s.rest = p.newSimple(rest)
	}
	s.members = make(map[string]simpleMember, len(schema.Properties))
	for name, property := range schema.Properties {
		s.members[name] = simpleMember{schema: p.newSimple(property)}
	}
	for _, name := range schema.Required {
		m, known := s.members[name]
		if !known {
			m.schema = s.rest
		}
		m.required = true
		s.members[name] = m
	}
	s.required = len(schema.Required)
}

// fits reports whether checked JSON is known to fit.
func (s *simpleSchema) fits(value []byte) bool {
	if s == nil || len(value) > MaxValues { // or there might be too many values
		return false
	}
	c := jsonscan.Walk(value)
	return s.open && c.Kind() == '{' && hasShortNumbers(value) || s.accepts(&c)
}

// hasShortNumbers reports whether checked JSON has no number with an exponent or more than mostDigits. It takes texts
// for numbers where they look so.
func hasShortNumbers(value []byte) bool {
	digits := 0
	for _, c := range value {
		if c-'0' <= 9 {
			digits++
		} else if digits > 0 {
			if digits > mostDigits || c == 'e' || c == 'E' {
				return false
			}
			if c != '.' {
				digits = 0
			}
		}
	}
	return true
}

// accepts is fits for the value at the cursor, which is behind it afterwards if it fits.
func (s *simpleSchema) accepts(c *jsonscan.Cursor) bool {
	switch c.Kind() {
	case '{':
		return s.kinds&object != 0 && s.acceptsObject(c)
	case '[':
		return s.kinds&array != 0 && s.acceptsArray(c)
	case '"':
		return s.kinds&text != 0 && s.acceptsText(c.Value())
	case 't', 'f':
		c.Skip()
		return s.kinds&boolean != 0
	case 'n':
		c.Skip()
		return s.kinds&null != 0
	}
	return s.acceptsNumber(c.Value())
}

func (s *simpleSchema) acceptsObject(c *jsonscan.Cursor) bool {
	required := 0
	for key := range c.Members() {
		m, known := s.members[string(key)]
		if !known {
			m.schema = s.rest
		}
		if m.schema == nil || !m.schema.accepts(c) {
			return false
		}
		if m.required {
			required++
		}
	}
	return required == s.required
}

func (s *simpleSchema) acceptsArray(c *jsonscan.Cursor) bool {
	for range c.Elements() {
		if s.elements == nil || !s.elements.accepts(c) {
			return false
		}
	}
	return true
}

// acceptsText leaves strings with escapes to the validator, if only some are allowed.
func (s *simpleSchema) acceptsText(quoted []byte) bool {
	return s.words == nil || s.words[string(quoted[1:len(quoted)-1])] && bytes.IndexByte(quoted, '\\') < 0
}

// acceptsNumber leaves all to the validator that is not a number of a few digits.
func (s *simpleSchema) acceptsNumber(number []byte) bool {
	switch {
	case len(number) > mostDigits:
		return false
	case bytes.ContainsAny(number, ".eE"):
		return s.kinds&fraction != 0 && s.least == nil && s.most == nil && digits(json.Number(number)) <= MaxDigits
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	return s.kinds&integer != 0 && err == nil && (s.least == nil || n >= *s.least) && (s.most == nil || n <= *s.most)
}
