package profile

import (
	"maps"
	"slices"
)

// A codec says how a value that the model writes is turned into one of the tool's
// own schema. Nil means that it is one. Codecs may refer to each other in circles,
// which always go deeper into the value.
type codec struct {
	fields map[string]field // of an object, by the name that the model writes
	items  *codec           // of a list: its elements
	def    *definition      // of a reference: that of its target

	// Of alternatives. At most one of those for objects acts, and at most one of those
	// for lists: fields and items are theirs.
	alts []alternative
	at   *node
}

// A field is a member of an object.
type field struct {
	name     string // what the tool calls it
	optional bool   // null means that it is missing
	codec    *codec
}

// An alternative is one of several forms that a value can have.
type alternative struct {
	schema *node // the compiled one
	codec  *codec
}

// acts reports whether a codec changes any value. It adds what it has looked at to seen,
// and does not look at what is there or is known to be inert.
func (k *codec) acts(seen, inert map[*codec]bool) bool {
	if k == nil || seen[k] || inert[k] {
		return false
	}
	seen[k] = true
	if k.def != nil && k.def.codec.acts(seen, inert) || k.items.acts(seen, inert) {
		return true
	}
	for _, f := range k.fields {
		if f.optional || f.codec.acts(seen, inert) {
			return true
		}
	}
	return slices.ContainsFunc(k.alts, func(a alternative) bool { return a.codec.acts(seen, inert) })
}

// settle gives the codecs of alternatives what acts on objects and on lists. It fails where
// two alternatives are of one type: a value could be of either.
func (s *stricter) settle() {
	inert := map[*codec]bool{}
	for _, k := range s.unions {
		flat := flatten(k.alts, nil, map[*codec]bool{})
		for _, t := range []typeSet{typeObject, typeArray} {
			var acting *codec
			count := 0
			for _, a := range flat {
				if typesNamed(a.schema)&t == 0 {
					continue
				}
				count++
				if seen := map[*codec]bool{}; a.codec.acts(seen, inert) {
					acting = a.codec
				} else {
					maps.Copy(inert, seen)
				}
			}
			switch {
			case acting == nil:
			case count > 1:
				s.fail(k.at, "null for a missing property could be of either of two alternatives")
			case t == typeObject:
				k.fields = acting.fields
			default:
				k.items = acting.items
			}
		}
	}
}

// flatten returns alternatives that are neither references nor alternatives.
func flatten(alts, into []alternative, seen map[*codec]bool) []alternative {
	for _, a := range alts {
		for a.codec != nil && a.codec.def != nil {
			a = alternative{a.codec.def.out, a.codec.def.codec}
		}
		switch {
		case a.codec == nil || a.codec.alts == nil:
			into = append(into, a)
		case !seen[a.codec]:
			seen[a.codec] = true
			into = flatten(a.codec.alts, into, seen)
		}
	}
	return into
}
