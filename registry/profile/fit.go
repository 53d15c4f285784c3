package profile

import (
	"slices"
	"strconv"
)

// The members of a pair.
const (
	pairKey   = "key"
	pairValue = "value"
)

func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// fits reports whether a value is of the form of a compiled schema: types, names of
// members, and listed values. Leniently, members may be missing or unknown, and
// only listed values count.
func (u *unmapper) fits(schema *node, start, end int, lenient bool) bool {
	raw := u.data[start:end]
	if u.steps -= 1 + len(raw)/256 + schema.listed()/8; u.steps < 0 {
		return false
	}
	if schema.def != nil {
		return u.fits(schema.def.out, start, end, lenient)
	}
	if union := schema.get("anyOf"); union != nil {
		return slices.ContainsFunc(union.elems, func(e *node) bool { return u.fits(e, start, end, lenient) })
	}
	kind := readNodeKind(raw)
	if typesNamed(schema)&kind == 0 {
		return false
	}
	if enum := schema.get("enum"); enum != nil {
		value := readNode(raw)
		return slices.ContainsFunc(enum.elems, func(v *node) bool { return sameNode(v, value) })
	}
	switch kind {
	case typeObject:
		return u.fitsObject(schema, start, end, lenient)
	case typeArray:
		items := schema.get("items")
		if items == nil {
			return true
		}
		for _, e := range u.elements(start, end) {
			if !u.fits(items, e.start, e.end, lenient) {
				return false
			}
		}
	}
	return true
}

func (u *unmapper) fitsObject(schema *node, start, end int, lenient bool) bool {
	properties := schema.get("properties")
	byName := make(map[string]*node, len(properties.list()))
	for _, m := range properties.list() {
		byName[m.name] = m.value
	}
	rest := schema.get("additionalProperties")
	there := map[string]bool{}
	for _, m := range u.members(start, end) {
		there[m.name] = true
		sub := byName[m.name]
		if sub == nil {
			if !lenient && rest != nil && rest.kind == 'f' {
				return false
			}
			continue
		}
		if lenient && sub.get("enum") == nil {
			continue
		}
		if !u.fits(sub, m.start, m.end, lenient) {
			return false
		}
	}
	if lenient {
		return true
	}
	return !slices.ContainsFunc(schema.get("required").texts(), func(name string) bool { return !there[name] })
}

// readNodeKind returns the type of a value without reading it.
func readNodeKind(raw []byte) typeSet {
	switch raw[0] {
	case '{':
		return typeObject
	case '[':
		return typeArray
	case '"':
		return typeString
	}
	return typeOf(readNode(raw))
}
