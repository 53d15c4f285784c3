package profile

// A codec says how a value that the model writes is turned into one of the tool's
// own schema. Nil means that it is one. Codecs may refer to each other in circles,
// which always go deeper into the value.
type codec struct {
	op operation

	fields map[string]field // of an object, by the name that the model writes
	rest   string           // the member that holds the pairs of others; empty: none
	items  *codec           // of an array: its elements; of pairs: their values
	alts   []alternative    // of a union
	def    *definition      // of a reference
	types  typeSet          // of what the JSON in a string may be
}

type operation int

const (
	opObject operation = iota + 1
	opArray
	opPairs // a list of pairs is a map
	opJSON  // a string holds JSON
	opUnion
	opReference
)

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

// acts reports whether a codec changes any value.
func (k *codec) acts(seen map[*codec]bool) bool {
	if k == nil || seen[k] {
		return false
	}
	seen[k] = true
	switch k.op {
	case opPairs, opJSON:
		return true
	case opReference:
		return k.def.codec.acts(seen)
	case opArray:
		return k.items.acts(seen)
	case opUnion:
		for _, a := range k.alts {
			if a.codec.acts(seen) {
				return true
			}
		}
		return false
	}
	if k.rest != "" {
		return true
	}
	for name, f := range k.fields {
		if f.optional || f.name != name || f.codec.acts(seen) {
			return true
		}
	}
	return false
}
