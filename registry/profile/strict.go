package profile

import (
	"cmp"
	"fmt"
	"slices"
)

// A stricter writes a compiled schema in the form that strict mode takes: each object
// lists all of its properties as required, and null stands for one that is missing.
// A schema that cannot be written so is not possible in strict mode.
type stricter struct {
	*compiler
	defs  map[*definition]*definition // of the compiled schema, and what they become
	order []*definition

	reason string // why strict mode is not possible; empty: it is
	at     *node  // where
}

// strict returns the schema and its codec for strict mode, or r itself, with a loss,
// where that is not possible.
func (c *compiler) strict(r *compiled) *compiled {
	mark := c.losses.mark()
	c.doc = newDocument(r.schema) // of the dialect in which it is written now
	s := &stricter{compiler: c, defs: map[*definition]*definition{}}
	if c.losses.isReshaped {
		s.fail(nil, "the arguments as a whole are one of several alternatives, or too large")
	}
	out, k := s.object(r.schema, true)
	defs := objectNode()
	for _, d := range s.order {
		defs.set(d.name, d.out)
	}
	if s.reason == "" {
		s.limits(out)
	}
	if s.reason != "" {
		c.losses.reset(mark)
		c.losses.add(Looser, s.at, "strict mode is not possible: %s", s.reason)
		return r
	}
	if len(defs.members) > 0 {
		out.set("$defs", defs)
	}
	return &compiled{schema: out, codec: k, strict: true}
}

// fail says why strict mode is not possible. The first reason stays.
func (s *stricter) fail(at *node, format string, args ...any) (*node, *codec) {
	if s.reason == "" {
		s.at, s.reason = at, fmt.Sprintf(format, args...)
	}
	return objectNode(), nil
}

// schema writes one schema.
func (s *stricter) schema(n *node) (*node, *codec) {
	switch {
	case s.reason != "":
		return n, nil
	case n.def != nil:
		return s.reference(n)
	}
	if all := n.get("allOf"); all != nil {
		rest := without(n, "allOf")
		if len(all.elems) != 1 || !onlyAnnotates(rest) {
			return s.fail(all, "allOf combines schemas")
		}
		made := described(rest, all.elems[0])
		made.def = all.elems[0].def
		return s.schema(made)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if union := n.get(keyword); union != nil && (n.get("type") == nil || !onlyRequires(union)) {
			return s.union(n, keyword, union)
		}
	}
	values, listed := valuesOf(n)
	types := typesNamed(n)
	if listed {
		types = having(types, values)
		values = slices.DeleteFunc(slices.Clone(values), func(v *node) bool { return typeOf(v)&types == 0 })
	}
	switch one := splitTypes(types); {
	case n.get("type") == nil && !listed:
		return s.fail(n, "a value has no type")
	case len(one) > 1:
		return s.fail(n, "a value has one of several types")
	case listed && (types == 0 || types&(typeObject|typeArray) != 0 || slices.ContainsFunc(values, tooLarge)):
		return s.fail(enumOf(n), "the values that are listed cannot be told")
	case types&typeObject != 0:
		return s.object(n, false)
	}
	out := typed(types)
	if listed {
		out.set("enum", listNode(values...))
	}
	said := map[string]bool{"type": true, "enum": true, "const": true}
	var k *codec
	if types&typeArray != 0 {
		items := n.get("items")
		if items == nil || n.get("prefixItems") != nil {
			return s.fail(n, "the elements of a list have no schema, or one each")
		}
		said["items"] = true
		made, inner := s.schema(items)
		out.set("items", made)
		if inner != nil {
			k = &codec{items: inner}
		}
	}
	s.keywords(out, n, types, said)
	return out, k
}

// keywords adds the keywords that strict mode takes as they are, and notes the others.
func (s *stricter) keywords(out, n *node, types typeSet, said map[string]bool) {
	for _, m := range n.members {
		if about, _ := concerns(m.name); !said[m.name] && about&types != 0 && s.takesStrictly(m) {
			out.set(m.name, m.value)
			said[m.name] = true
		}
	}
	s.unsaid(n, types, said)
}

// takesStrictly reports whether strict mode takes a keyword that holds no schema.
func (s *stricter) takesStrictly(m member) bool {
	switch m.name {
	case "title", "description", "minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum":
		return true
	case "pattern":
		return s.rules.takesPattern(m.value.text)
	case "minItems", "maxItems":
		return isCount(m.value)
	case "format":
		return slices.Contains([]string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}, m.value.text)
	}
	return false
}

// reference writes a reference: nothing may stand beside it, but beside a union of one.
func (s *stricter) reference(n *node) (*node, *codec) {
	d := s.defs[n.def]
	if d == nil {
		d = &definition{name: n.def.name, target: n.def.out}
		s.defs[n.def] = d
		s.order = append(s.order, d)
		d.out, d.codec = s.schema(d.target)
	}
	ref := d.reference()
	rest := without(n, "$ref")
	if !onlyAnnotates(rest) {
		return s.fail(n, "keywords stand beside a reference")
	}
	out := objectNode(member{"anyOf", listNode(ref)})
	s.keywords(out, rest, anyType, map[string]bool{})
	if len(out.members) == 1 {
		out = ref
	}
	if d.out != nil && d.codec == nil { // it is all written, and nothing is to be turned back
		return out, nil
	}
	return out, &codec{def: d}
}

// union writes alternatives.
func (s *stricter) union(n *node, keyword string, union *node) (*node, *codec) {
	rest := without(n, keyword)
	if t := rest.get("type"); t != nil && !slices.ContainsFunc(union.elems, func(e *node) bool { return typesNamed(e)&^typesNamed(rest) != 0 }) {
		rest.drop("type") // each alternative says it
	}
	if !onlyAnnotates(rest) {
		return s.fail(union, "keywords stand beside alternatives")
	}
	if keyword == "oneOf" && !typesApart(union.elems) {
		s.losses.add(Looser, union, "exactly one has to fit; the model is told that one or more have to")
	}
	list, k := listNode(), &codec{}
	var types typeSet // of the alternatives so far
	for _, e := range union.elems {
		made, inner := s.schema(e)
		list.elems = append(list.elems, made)
		own := typesWithin(e, 0)
		if both := own & types & (typeObject | typeArray); both != 0 && (inner != nil || k.object != nil && both&typeObject != 0 || k.list != nil && both&typeArray != 0) {
			return s.fail(union, "null for a missing property could be of either of two alternatives")
		}
		types |= own
		if inner != nil && own&typeObject != 0 {
			k.object = inner
		}
		if inner != nil && own&typeArray != 0 {
			k.list = inner
		}
	}
	out := objectNode(member{"anyOf", list})
	s.keywords(out, rest, anyType, map[string]bool{})
	if k.object == nil && k.list == nil {
		k = nil
	}
	return out, k
}

// typesWithin returns the types of the values that fit a compiled schema, as far as can be seen soon.
func typesWithin(schema *node, depth int) typeSet {
	const deepest = 8
	union := cmp.Or(schema.get("anyOf"), schema.get("oneOf"))
	switch {
	case depth == deepest:
		return anyType
	case schema.def != nil:
		return typesWithin(schema.def.out, depth+1)
	case union != nil && schema.get("type") == nil:
		var types typeSet
		for _, e := range union.elems {
			types |= typesWithin(e, depth+1)
		}
		return types
	}
	if values, listed := valuesOf(schema); listed {
		return having(typesNamed(schema), values)
	}
	return typesNamed(schema)
}

// object writes an object.
func (s *stricter) object(n *node, root bool) (*node, *codec) {
	properties, rest := n.get("properties"), n.get("additionalProperties")
	closed := rest != nil && rest.kind == 'f'
	switch {
	case rest != nil && !closed || n.get("patternProperties") != nil:
		return s.fail(n, "an object takes properties with names that are not listed")
	case len(properties.list()) == 0 && !closed && !root:
		return s.fail(n, "an object takes any properties")
	}
	needed := nameSet(n.get("required").texts())
	made, names := objectNode(), []string(nil)
	k := &codec{fields: map[string]field{}}
	for _, m := range properties.list() {
		schema, inner := s.schema(m.value)
		f := field{name: m.name, codec: inner}
		if !needed[m.name] {
			f.optional = true
			if typesWithin(m.value, 0)&typeNull != 0 {
				s.losses.add(Narrower, m.value, "null means that the property is missing, so null itself cannot be written")
			}
			schema = withNull(schema, schema.def != nil)
		}
		delete(needed, m.name)
		if f.optional || inner != nil {
			k.fields[m.name] = f
		}
		made.members = append(made.members, member{m.name, schema})
		names = append(names, m.name)
	}
	if len(needed) > 0 {
		return s.fail(n.get("required"), "a property is required that has no schema")
	}
	if !closed {
		s.losses.add(Narrower, n, "other properties than those listed cannot be written")
	}
	out := objectNode(member{"type", typesNode(typesNamed(n))}, member{"properties", made}, member{"required", textsNode(names)}, member{"additionalProperties", boolNode(false)})
	s.keywords(out, n, typesNamed(n), map[string]bool{"type": true, "properties": true, "required": true, "additionalProperties": true})
	if len(k.fields) == 0 {
		k = nil
	}
	return out, k
}

// withNull returns a schema that takes null, too: as an alternative, or as one of its types.
func withNull(schema *node, apart bool) *node {
	union := schema.get("anyOf")
	if union == nil && (apart || schema.get("type") == nil) {
		return objectNode(member{"anyOf", listNode(schema, typed(typeNull))})
	}
	made := copyOf(schema)
	if union != nil {
		if !slices.ContainsFunc(union.elems, func(e *node) bool { return e.def == nil && typesNamed(e)&typeNull != 0 }) {
			made.set("anyOf", listNode(append(slices.Clone(union.elems), typed(typeNull))...))
		}
		return made
	}
	made.set("type", typesNode(typesNamed(schema)|typeNull))
	if enum := schema.get("enum"); enum != nil && !slices.ContainsFunc(enum.elems, func(v *node) bool { return v.kind == 'n' }) {
		made.set("enum", listNode(append(slices.Clone(enum.elems), &node{kind: 'n'})...))
	}
	return made
}
