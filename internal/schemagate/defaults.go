package schemagate

import (
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxDefaults bounds what is added to a value, in bytes.
const maxDefaults = MaxBytes

// Complete checks a value after adding the members that it lacks and whose property has a
// default, other than null or of a kind that does not fit; defaults of schemas farther
// within are for the server. It returns the very same value if nothing is missing, if the
// value does not fit when it is complete but fits as it is, and if the defaults have more
// than [MaxBytes]. Present values keep their bytes, their order and their spelling. It takes
// a bounded time, for a small value a shorter one than [Schema.Validate] does.
//
// If there are problems, the value is returned as it was.
func (s *Schema) Complete(value json.RawMessage) (json.RawMessage, []Problem) {
	if err := jsonscan.Valid(value); err != nil {
		return value, []Problem{unreadable(value, err)}
	}
	return s.CompleteChecked(value)
}

// CompleteChecked is Complete for a value in which [CheckSyntax] finds nothing.
func (s *Schema) CompleteChecked(value json.RawMessage) (json.RawMessage, []Problem) {
	completed := s.known().complete(value)
	v := s.judgeChecked(completed, allowance(completed))
	if v.fits() {
		return completed, nil
	}
	r := s.report(&v)
	if len(completed) > len(value) {
		if v = s.judgeChecked(value, allowance(value)); v.fits() {
			return value, nil
		}
		if own := s.report(&v); own.total < r.total {
			r = own
		}
	}
	return value, r.problems()
}

// A fallback is the default of a property: "name":value, as JSON.
type fallback struct {
	name string
	text []byte
}

// defaultsOf returns the defaults of the properties of s, or of the schema that it refers to, by name.
func (p *parts) defaultsOf(s *jsonschema.Schema) (all []fallback) {
	for s.Ref != nil && len(s.Properties) == 0 {
		s = s.Ref
	}
	size := 0
	for _, name := range sorted(s.Properties) {
		value := defaultOf(s.Properties[name])
		if value == nil || *value == nil || p.kindsOf(s.Properties[name])&kindsOfValue(*value) == 0 {
			continue
		}
		quoted, err := canonjson.Marshal(name)
		text, err2 := canonjson.Marshal(*value)
		if err == nil && err2 == nil && jsonscan.Valid(text) == nil {
			all = append(all, fallback{name, slices.Concat(quoted, []byte{':'}, text)})
			size += len(quoted) + len(text) + 2
		}
	}
	if size > maxDefaults {
		return nil
	}
	return all
}

// defaultOf returns the default of a schema, or of that which it refers to.
func defaultOf(s *jsonschema.Schema) *any {
	for s.Default == nil && s.Ref != nil {
		s = s.Ref
	}
	return s.Default
}

// complete returns a value that is checked JSON with the defaults that it lacks, as its
// last members, or the value itself.
func (p *parts) complete(value []byte) []byte {
	if len(p.defaults) == 0 {
		return value
	}
	c := jsonscan.Walk(value)
	if c.Kind() != '{' {
		return value
	}
	there, end := map[string]bool{}, c.Pos()+1
	for name := range c.Members() {
		there[string(name)] = true
		end = c.Pos() + len(c.Value())
	}
	var missing []byte
	for _, f := range p.defaults {
		if there[f.name] {
			continue
		}
		if len(there)+len(missing) > 0 {
			missing = append(missing, ',')
		}
		missing = append(missing, f.text...)
	}
	if missing == nil {
		return value
	}
	return slices.Concat(value[:end], missing, value[end:])
}
