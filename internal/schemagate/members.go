package schemagate

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A member is one of an object, and where it stands in the data.
type member struct {
	name       string
	key        int // where its name begins
	start, end int // of its value
	dropped    bool
}

// members returns the members of the object that stands at start, where c is.
func (r *round) members(start int, c *jsonscan.Cursor) []member {
	var all []member
	end := start + 1
	for name := range c.Members() {
		m := member{name: string(name), key: end + bytes.IndexByte(r.data[end:], '"'), start: start + c.Pos()}
		m.end = m.start + len(c.Value())
		end = m.end
		all = append(all, m)
	}
	return all
}

func (r *round) object(start int, c *jsonscan.Cursor, schemas []*jsonschema.Schema) {
	members := r.members(start, c)
	all := r.holding(schemas, object, members)
	kept := 0
	for i := range members {
		m := &members[i]
		if !r.spend(len(all)) {
			return
		}
		below := r.memberSchemas(all, m.name)
		if r.how.Nulls && r.data[m.start] == 'n' && len(below) > 0 && r.allowed(below)&null == 0 && !required(all, m.name) {
			r.drop(members, i, kept)
			continue
		}
		kept++
		r.value(m.start, m.end, below)
	}
	if r.how.Defaults {
		at := start + 1
		if len(members) > 0 {
			at = members[len(members)-1].end
		}
		r.addMissing(all, members, at, kept)
	}
}

// memberSchemas returns the schemas that hold for a member.
func (r *round) memberSchemas(all []*jsonschema.Schema, name string) []*jsonschema.Schema {
	var below []*jsonschema.Schema
	for _, s := range all {
		n := len(below)
		if sub := s.Properties[name]; sub != nil {
			below = append(below, sub)
		}
		for re, sub := range s.PatternProperties {
			if r.spend(cost(len(name), r.programs[re])) && re.MatchString(name) {
				below = append(below, sub)
			}
		}
		slices.SortFunc(below[n:], func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) })
		if rest := one(s.AdditionalProperties); rest != nil && len(below) == n {
			below = append(below, rest)
		}
	}
	return below
}

func required(all []*jsonschema.Schema, name string) bool {
	return slices.ContainsFunc(all, func(s *jsonschema.Schema) bool { return slices.Contains(s.Required, name) })
}

// drop removes a member, with the comma that stands before it or, if nothing
// does, the one behind it.
func (r *round) drop(members []member, i, kept int) {
	m := &members[i]
	m.dropped = true
	switch {
	case kept > 0:
		r.edits = append(r.edits, edit{members[i-1].end, m.end, nil})
	case i+1 < len(members):
		r.edits = append(r.edits, edit{m.key, members[i+1].key, nil})
	default:
		r.edits = append(r.edits, edit{m.key, m.end, nil})
	}
}

// addMissing adds the members that have a default and are not there, at the end
// of an object.
func (r *round) addMissing(all []*jsonschema.Schema, members []member, at, kept int) {
	var text []byte
	var there map[string]bool
	for _, s := range all {
		for _, f := range r.fallbacks(s) {
			if there == nil {
				there = make(map[string]bool, len(members))
				for _, m := range members {
					there[m.name] = !m.dropped
				}
			}
			if there[f.name] || !r.spend(1+len(f.text)/64) {
				continue
			}
			there[f.name] = true
			if kept++; kept > 1 {
				text = append(text, ',')
			}
			text = append(text, f.text...)
		}
	}
	if len(text) > 0 {
		r.edits = append(r.edits, edit{at, at, text})
	}
}
