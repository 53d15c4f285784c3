package schemagate

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const (
	// maxRounds is how often a value is gone through: what one round adds can
	// decide an alternative for the next, or lack members of its own.
	maxRounds = 8
	// maxDefaults bounds what is added to a value, in bytes.
	maxDefaults = MaxBytes
)

// Complete checks a value after adding the missing members that have a default,
// other than null or of a kind that does not fit. It returns the very same value
// if nothing is missing, if the value does not fit when it is complete but fits
// as it is, and if the defaults have no end or more than [MaxBytes]. Present values keep
// their bytes, their order and their spelling. It takes a bounded time, for a small value
// a shorter one than [Schema.Validate] does.
//
// If there are problems, the value is returned as it was.
func (s *Schema) Complete(value json.RawMessage) (json.RawMessage, []Problem) {
	if err := jsonscan.Valid(value); err != nil {
		return value, []Problem{unreadable(value, err)}
	}
	known := s.known()
	if known.simple.fits(value, true) {
		return value, nil
	}
	completed := known.complete(value)
	v := s.judgeCompleted(completed, value)
	if v.fits() {
		return completed, nil
	}
	r := s.report(&v)
	if len(completed) > len(value) {
		if v = s.validate(value, allowance(value)); v.fits() {
			return value, nil
		}
		if own := s.report(&v); own.total < r.total {
			r = own
		}
	}
	return value, r.problems()
}

// judgeCompleted judges what a value has become that was checked already.
func (s *Schema) judgeCompleted(completed, value json.RawMessage) verdict {
	if len(completed) == len(value) { // it is the very same
		return s.validate(value, allowance(value))
	}
	return s.judge(completed, allowance(completed))
}

// A fallback is the default of a property: "name":value, as JSON.
type fallback struct {
	name string
	text []byte
}

// addDefaults finds the defaults of the properties of s.
func (p *parts) addDefaults(s *jsonschema.Schema) {
	var all []fallback
	for name, property := range s.Properties {
		value := defaultOf(property)
		if value == nil || *value == nil || p.kindsOf(property)&kindsOfValue(*value) == 0 {
			continue
		}
		quoted, err := canonjson.Marshal(name)
		text, err2 := canonjson.Marshal(*value)
		if err == nil && err2 == nil && jsonscan.Valid(text) == nil {
			all = append(all, fallback{name, append(append(quoted, ':'), text...)})
		}
	}
	if len(all) > 0 {
		slices.SortFunc(all, func(a, b fallback) int { return cmp.Compare(a.name, b.name) })
		p.defaults[s] = all
	}
}

// defaultOf returns the default of a schema, or of those that it refers to.
func defaultOf(s *jsonschema.Schema) *any {
	all := []*jsonschema.Schema{s}
	for i := 0; i < len(all); i++ {
		if s := all[i]; s.Default != nil {
			return s.Default
		}
		for _, sub := range append([]*jsonschema.Schema{all[i].Ref}, all[i].AllOf...) {
			if sub != nil && !slices.Contains(all, sub) {
				all = append(all, sub)
			}
		}
	}
	return nil
}

// complete returns a value that is checked JSON with the defaults that it lacks,
// or the value itself.
func (p *parts) complete(value []byte) []byte {
	if len(p.defaults) == 0 {
		return value
	}
	now := value
	steps, room := MaxSteps, maxDefaults
	for range maxRounds {
		r := round{parts: p, steps: &steps, room: &room, data: now}
		r.value(0, len(now), []*jsonschema.Schema{p.root.compiled})
		switch {
		case steps < 0 || room < 0:
			return value
		case len(r.additions) == 0:
			return now
		}
		now = r.result()
	}
	return value
}

// A round goes once through a value, along the schemas that hold for its parts,
// and collects what to add.
type round struct {
	*parts
	steps     *int // that may still come
	room      *int // for more bytes
	data      []byte
	additions []addition // in the order of the data
}

type addition struct {
	at   int
	text []byte
}

func (r *round) result() []byte {
	var out []byte
	pos := 0
	for _, a := range r.additions {
		out = append(append(out, r.data[pos:a.at]...), a.text...)
		pos = a.at
	}
	return append(out, r.data[pos:]...)
}

func (r *round) spend(steps int) bool {
	*r.steps -= steps
	return *r.steps >= 0
}

// value completes the value that stands at a place of the data, and for which all
// of the schemas hold.
func (r *round) value(start, end int, schemas []*jsonschema.Schema) {
	if len(schemas) == 0 || !r.spend(1+len(schemas)+(end-start)/64) {
		return
	}
	c := jsonscan.Walk(r.data[start:end])
	start += c.Pos() // white space around the whole
	switch c = jsonscan.Walk(r.data[start:end]); c.Kind() {
	case '{':
		r.object(start, &c, schemas)
	case '[':
		r.array(start, &c, schemas)
	}
}

func (r *round) array(start int, c *jsonscan.Cursor, schemas []*jsonschema.Schema) {
	all := r.holding(schemas, array)
	for i := range c.Elements() {
		if !r.spend(len(all)) {
			return
		}
		var below []*jsonschema.Schema
		for _, s := range all {
			if sub := elementSchema(s, i); sub != nil {
				below = append(below, sub)
			}
		}
		at := start + c.Pos()
		r.value(at, at+len(c.Value()), below)
	}
}

func elementSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		if i < len(list) {
			return list[i]
		}
		return one(s.AdditionalItems)
	}
	switch {
	case i < len(s.PrefixItems):
		return s.PrefixItems[i]
	case s.Items2020 != nil:
		return s.Items2020
	}
	return one(s.Items)
}

// A member is one of an object, and where its value stands in the data.
type member struct {
	name       string
	start, end int
}

func (r *round) object(start int, c *jsonscan.Cursor, schemas []*jsonschema.Schema) {
	var members []member
	for name := range c.Members() {
		at := start + c.Pos()
		members = append(members, member{string(name), at, at + len(c.Value())})
	}
	all := r.holding(schemas, object)
	for _, m := range members {
		if !r.spend(len(all)) {
			return
		}
		r.value(m.start, m.end, memberSchemas(all, m.name))
	}
	r.addMissing(all, members, start)
}

// memberSchemas returns the schemas that hold for a member, but for those of
// patternProperties.
func memberSchemas(all []*jsonschema.Schema, name string) []*jsonschema.Schema {
	var below []*jsonschema.Schema
	for _, s := range all {
		if sub := s.Properties[name]; sub != nil {
			below = append(below, sub)
		} else if rest := one(s.AdditionalProperties); rest != nil && len(s.PatternProperties) == 0 {
			below = append(below, rest)
		}
	}
	return below
}

// addMissing adds the members that have a default and are not there, at the end
// of the object that begins at start.
func (r *round) addMissing(all []*jsonschema.Schema, members []member, start int) {
	var text []byte
	var there map[string]bool
	for _, s := range all {
		for _, f := range r.defaults[s] {
			if there == nil {
				there = make(map[string]bool, len(members))
				for _, m := range members {
					there[m.name] = true
				}
			}
			if there[f.name] || !r.spend(1+len(f.text)/64) {
				continue
			}
			if *r.room -= len(f.text) + 1; *r.room < 0 {
				return
			}
			there[f.name] = true
			if len(members)+len(text) > 0 {
				text = append(text, ',')
			}
			text = append(text, f.text...)
		}
	}
	if len(text) == 0 {
		return
	}
	at := start + 1
	if len(members) > 0 {
		at = members[len(members)-1].end
	}
	r.additions = append(r.additions, addition{at, text})
}

// holding returns the schemas that hold for a value of a kind if the given ones
// do: those they refer to, all of allOf, and of alternatives the only one that is for values of
// the kind.
func (r *round) holding(schemas []*jsonschema.Schema, kind kinds) []*jsonschema.Schema {
	all := slices.Clone(schemas)
	add := func(s *jsonschema.Schema) {
		if s != nil && r.spend(1+len(all)/8) && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	for i := 0; i < len(all) && *r.steps >= 0; i++ {
		s := all[i]
		add(s.Ref)
		for _, sub := range s.AllOf {
			add(sub)
		}
		for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			left := slices.DeleteFunc(slices.Clone(branches), func(s *jsonschema.Schema) bool { return r.kinds[s]&kind == 0 })
			if r.spend(len(branches)) && len(left) == 1 {
				add(left[0])
			}
		}
	}
	return all
}
