package profile

import "unicode/utf8"

// The bounds of strict mode, as documented.
const (
	strictProperties = 5_000
	strictDepth      = 10
	strictValues     = 1_000
	strictText       = 120_000 // characters of names and values together
	strictLongEnum   = 250     // values; the texts of a longer enum are limited
	strictEnumText   = 15_000  // characters
)

// A tally counts what strict mode limits.
type tally struct {
	properties, values, text int
	longEnum                 bool
	deepest, steps           int
	open                     map[*definition]bool
}

// limits fails for a schema that has more than strict mode takes.
func (s *stricter) limits(schema *node) {
	t := tally{open: map[*definition]bool{}}
	t.count(schema)
	for _, d := range s.order {
		t.text += utf8.RuneCountInString(d.name)
		t.count(d.out)
	}
	t.measure(schema, 0)
	switch {
	case t.properties > strictProperties:
		s.fail(nil, "the schema has %d properties, at most %d are taken", t.properties, strictProperties)
	case t.deepest > strictDepth:
		s.fail(nil, "objects and lists are nested deeper than %d", strictDepth)
	case t.values > strictValues:
		s.fail(nil, "the schema lists %d values, at most %d are taken", t.values, strictValues)
	case t.text > strictText:
		s.fail(nil, "names and values have %d characters together, at most %d are taken", t.text, strictText)
	case t.longEnum:
		s.fail(nil, "a long enum has values of more than %d characters together", strictEnumText)
	}
}

// count counts the properties and values of a schema.
func (t *tally) count(schema *node) {
	for _, m := range schema.get("properties").list() {
		t.properties++
		t.text += utf8.RuneCountInString(m.name)
		t.count(m.value)
	}
	if enum := schema.get("enum"); enum != nil {
		size := 0
		for _, v := range enum.elems {
			t.values++
			size += utf8.RuneCountInString(v.text)
		}
		t.text += size
		t.longEnum = t.longEnum || len(enum.elems) > strictLongEnum && size > strictEnumText
	}
	for _, e := range below(schema) {
		t.count(e)
	}
}

// below returns the schemas in items and anyOf.
func below(schema *node) []*node {
	var all []*node
	if items := schema.get("items"); items != nil {
		all = append(all, items)
	}
	if union := schema.get("anyOf"); union != nil {
		all = append(all, union.elems...)
	}
	return all
}

// measure finds out how deep objects and lists are nested. A recursive schema is as deep
// as once through it.
func (t *tally) measure(schema *node, depth int) {
	if t.steps++; t.steps > maxWork {
		t.deepest = strictDepth + 1 // no person writes that
	}
	if t.deepest > strictDepth {
		return
	}
	if d := schema.def; d != nil {
		if !t.open[d] {
			t.open[d] = true
			t.measure(d.out, depth)
			t.open[d] = false
		}
		return
	}
	if typesNamed(schema)&(typeObject|typeArray) != 0 && schema.get("type") != nil {
		depth++
		t.deepest = max(t.deepest, depth)
	}
	for _, m := range schema.get("properties").list() {
		t.measure(m.value, depth)
	}
	for _, e := range below(schema) {
		t.measure(e, depth)
	}
}
