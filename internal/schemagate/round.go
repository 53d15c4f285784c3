package schemagate

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A round goes once through a value that is checked JSON, along the schemas that
// hold for its parts, and collects what to write otherwise.
type round struct {
	*parts
	how       Mending
	steps     *int // that may still come
	fallbacks func(*jsonschema.Schema) []fallback
	data      []byte
	edits     []edit // in the order of the data
}

// An edit replaces a part of the data.
type edit struct {
	start, end int
	with       []byte
}

// round returns what becomes of a value, or nil if nothing does. It fails for a
// value that would take too long.
func (p *parts) round(value []byte, how Mending) (changed []byte, ok bool) {
	steps := MaxSteps
	r := round{parts: p, how: how, steps: &steps, fallbacks: p.fallbacks, data: value}
	r.value(0, len(value), []*jsonschema.Schema{p.root.compiled})
	return r.result(), steps >= 0
}

func (r *round) result() []byte {
	if len(r.edits) == 0 {
		return nil
	}
	var out []byte
	pos := 0
	for _, e := range r.edits {
		out = append(append(out, r.data[pos:e.start]...), e.with...)
		pos = e.end
	}
	return append(out, r.data[pos:]...)
}

func (r *round) spend(steps int) bool {
	*r.steps -= steps
	return *r.steps >= 0
}

// value mends the value that stands at a place of the data, and for which all of
// the schemas hold.
func (r *round) value(start, end int, schemas []*jsonschema.Schema) {
	if len(schemas) == 0 || !r.spend(1+len(schemas)+(end-start)/64) {
		return
	}
	c := jsonscan.Walk(r.data[start:end])
	start += c.Pos() // white space around the whole
	switch c = jsonscan.Walk(r.data[start:end]); c.Kind() {
	case '"':
		r.text(start, c.Value(), schemas)
	case '{':
		r.object(start, &c, schemas)
	case '[':
		r.array(start, &c, schemas)
	}
}

// text takes a string for what it spells. What is within that is for the next
// round.
func (r *round) text(start int, quoted []byte, schemas []*jsonschema.Schema) {
	if !r.how.Types {
		return
	}
	allowed := r.allowed(schemas)
	if allowed&text != 0 {
		return
	}
	spelled := spelled(quoted, allowed)
	if spelled == nil {
		return
	}
	r.edits = append(r.edits, edit{start, start + len(quoted), spelled})
}

func (r *round) allowed(schemas []*jsonschema.Schema) kinds {
	allowed := kinds(anything)
	for _, s := range schemas {
		allowed &= r.kinds[s]
	}
	return allowed
}

func (r *round) array(start int, c *jsonscan.Cursor, schemas []*jsonschema.Schema) {
	all := r.holding(schemas, array, nil)
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

// holding returns the schemas that hold for a value of a kind if the given ones
// do: those they refer to, all of allOf, and of alternatives the one that is left
// when the others cannot be meant.
func (r *round) holding(schemas []*jsonschema.Schema, kind kinds, members []member) []*jsonschema.Schema {
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
		add(r.decided(s.AnyOf, kind, members))
		add(r.decided(s.OneOf, kind, members))
	}
	return all
}

// decided returns the only one of several alternatives that a value can be meant
// for, or nil.
func (r *round) decided(branches []*jsonschema.Schema, kind kinds, members []member) *jsonschema.Schema {
	var left *jsonschema.Schema
	for _, s := range branches {
		if !r.spend(1 + len(r.tags[s])*len(members)/8) {
			return nil
		}
		if r.kinds[s]&kind == 0 || r.isOther(s, members) {
			continue
		}
		if left != nil {
			return nil
		}
		left = s
	}
	return left
}

// isOther reports whether an object bears a tag that s does not allow.
func (r *round) isOther(s *jsonschema.Schema, members []member) bool {
	for _, t := range r.tags[s] {
		for _, m := range members {
			if m.name != t.name {
				continue
			}
			if value, ok := jsonscan.String(r.data[m.start:m.end]); ok && !slices.Contains(t.values, value) {
				return true
			}
		}
	}
	return false
}
