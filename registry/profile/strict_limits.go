package profile

// The bounds of strict mode, as documented, but for those in characters (120,000 of names and
// values, 15,000 of the values of a long enum), which the limits of the gate come near to.
const (
	strictProperties = 5_000
	strictDepth      = 10
	strictValues     = 1_000
)

// A tally counts what strict mode limits.
type tally struct {
	properties, values int
	deepest, steps     int
	open               map[*definition]bool
}

// limits fails for a schema that has more than strict mode takes.
func (s *stricter) limits(schema *node) {
	t := tally{open: map[*definition]bool{}}
	t.count(schema)
	for _, d := range s.order {
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
	}
}

// count counts the properties and values of a schema.
func (t *tally) count(schema *node) {
	t.properties += len(schema.get("properties").list())
	t.values += lengthOf(schema.get("enum"))
	subschemas(schema, t.count)
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
	subschemas(schema, func(sub *node) { t.measure(sub, depth) })
}
