package profile

import (
	"fmt"
	"unicode/utf8"
)

// What strict mode takes at most, as documented.
const (
	strictProperties = 5_000
	strictDepth      = 10
	strictValues     = 1_000
	strictText       = 120_000 // characters of names and values together
	strictLongEnum   = 250     // values; the texts of a longer enum are limited
	strictEnumText   = 15_000  // characters

	strictBytes = 256 << 10 // not documented; as much as a schema may have that comes in
)

// A tally counts what strict mode limits.
type tally struct {
	properties, values, text int
	longEnum                 bool
	deepest, steps           int
	open                     map[*definition]bool
}

// notStrict returns why strict mode is not possible for a schema, or nothing.
func (c *compiler) notStrict(schema *node) string {
	t := tally{open: map[*definition]bool{}}
	t.count(schema)
	for _, d := range c.defs {
		t.text += utf8.RuneCountInString(d.name)
		t.count(d.out)
	}
	t.measure(schema, 0)
	switch {
	case c.work > maxWork || c.written > strictBytes:
		return "the schema is too large"
	case c.untold: // what is not said of an object could not be written
		return "there are too many combinations of alternatives"
	case t.properties > strictProperties:
		return fmt.Sprintf("the schema has %d properties, at most %d are taken", t.properties, strictProperties)
	case t.deepest > strictDepth:
		return fmt.Sprintf("objects and lists are nested deeper than %d", strictDepth)
	case t.values > strictValues:
		return fmt.Sprintf("the schema lists %d values, at most %d are taken", t.values, strictValues)
	case t.text > strictText:
		return fmt.Sprintf("names and values have %d characters together, at most %d are taken", t.text, strictText)
	case t.longEnum:
		return fmt.Sprintf("a long enum has values of more than %d characters together", strictEnumText)
	}
	return ""
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

// measure finds out how deep objects and lists are nested. What contains itself is
// as deep as once through it.
func (t *tally) measure(schema *node, depth int) {
	if t.steps++; t.steps > maxWork {
		t.deepest = strictDepth + 1 // nobody writes that by hand
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

// A union is alternatives of which the model writes one, in strict mode.
type union struct {
	at    *node
	forms []form
}

// overlaps notes the unions in which a value in another form could be of two of the
// alternatives.
func (c *compiler) overlaps() {
	for _, u := range c.unions {
		acts := make([]bool, len(u.forms))
		for i, f := range u.forms {
			acts[i] = f.codec.acts(map[*codec]bool{})
			found := false
			for j, o := range u.forms[:i] {
				if found = (acts[i] || acts[j]) && confusable(o, f); found {
					break
				}
			}
			if found {
				c.losses.add(FormsOverlap, Narrower, u.at, "two alternatives can be written in the same form; it is read as the first that fits")
				c.losses.add(FormsOverlap, Looser, u.at, "two alternatives can be written in the same form; it is read as the first that fits")
				break
			}
		}
	}
}

// confusable reports whether two forms, of which one is turned back, may have a
// value in common.
func confusable(a, b form) bool {
	x, y := resolved(a.schema), resolved(b.schema)
	if x.get("anyOf") != nil || y.get("anyOf") != nil {
		return true
	}
	common := typesNamed(x) & typesNamed(y)
	if common&^typeObject != 0 && common != typeNull {
		return true
	}
	if common&typeObject == 0 {
		return false
	}
	px, py := x.get("properties").list(), y.get("properties").list()
	if len(px) != len(py) {
		return false
	}
	for _, m := range px {
		other := y.get("properties").get(m.name)
		if other == nil || valuesApart(m.value, other) {
			return false
		}
	}
	return true
}

func resolved(schema *node) *node {
	for schema.def != nil {
		schema = schema.def.out
	}
	return schema
}

// An optional is the form of a property that is not required, in strict mode.
type optional struct {
	at     *node
	schema *node // as if it were required
}

// missing notes the properties for which null is written if they are missing.
func (c *compiler) missing() {
	known := map[*definition]bool{}
	for _, o := range c.optionals {
		if takesNull(o.schema, known) {
			c.losses.add(NullForMissing, Narrower, o.at, "null means that the property is missing, so null itself cannot be written")
		} else {
			c.losses.add(NullForMissing, Recoded, o.at, "null is written for a property that is missing")
		}
	}
}

// takesNull reports whether null fits a compiled schema. What is known of definitions
// is kept: they may refer to each other in very many ways.
func takesNull(schema *node, known map[*definition]bool) bool {
	if d := schema.def; d != nil {
		takes, ok := known[d]
		if !ok {
			takes = takesNull(d.out, known)
			known[d] = takes
		}
		return takes
	}
	union := schema.get("anyOf")
	if union == nil {
		return typesNamed(schema)&typeNull != 0
	}
	for _, e := range union.elems {
		if takesNull(e, known) {
			return true
		}
	}
	return false
}
