package profile

import "slices"

// object makes the form of an object.
func (c *compiler) object(a *node, said map[string]bool, root bool) form {
	for _, keyword := range []string{"properties", "required", "additionalProperties", "patternProperties"} {
		said[keyword] = true
	}
	if !root && c.diet.depth > 0 && c.depth >= c.diet.depth {
		if len(a.get("properties").list()) > 0 || a.get("additionalProperties") != nil || hasPatterns(a) {
			c.losses.add(DepthCut, Looser, a, "the schema is nested too deep for the provider; the model is told of an object and no more")
		}
		return form{schema: objectNode(member{"type", textNode("object")})}
	}
	required := a.get("required").texts()
	if c.diet.family == exact && !root {
		if f, ok := c.mapping(a, required); ok {
			return f
		}
	}
	properties, k := c.members(a, required)
	out := objectNode(member{"type", textNode("object")})
	if len(properties.members) > 0 || c.diet.family == exact || root {
		out.set("properties", properties)
	}
	if c.diet.family == exact {
		c.close(a, properties, k)
		required = nil
		for _, m := range properties.members {
			required = append(required, m.name)
		}
		out.set("required", textsNode(required))
		out.set("additionalProperties", boolNode(false))
		return form{schema: out, codec: k}
	}
	told := make(map[string]bool, len(properties.members))
	for _, m := range properties.members {
		told[m.name] = true
	}
	required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return !told[name] })
	if len(required) > 0 {
		if c.diet.family == typed && !root && c.within == 0 {
			c.losses.add(KeywordDropped, Looser, a.get("required"), "servers do not show the model which properties of an object within the arguments are required")
		}
		out.set("required", textsNode(required))
	}
	c.others(out, a, root)
	return form{schema: out}
}

// members makes the forms of the properties, and of those that are required without
// being listed.
func (c *compiler) members(a *node, required []string) (*node, *codec) {
	out := objectNode()
	k := &codec{op: opObject, fields: map[string]field{}}
	needed := nameSet(required)
	known := map[string]bool{}
	add := func(name string, sub *node) {
		known[name] = true
		f := c.value(sub)
		if f.schema == nil {
			c.losses.add(PropertyDropped, Looser, sub, "no value fits this property; the model is not told of it")
			if needed[name] {
				c.losses.add(KeywordDropped, Looser, a.get("required"), "no value fits a property that is required")
			}
			return
		}
		if c.diet.family == exact {
			own := field{name: name, codec: f.codec}
			switch {
			case needed[name]:
			case f.null && a.sometimes[name]:
				c.losses.add(NullForMissing, Narrower, sub, "null means null, so the property cannot be missing")
			default:
				own.optional = true
				c.optionals = append(c.optionals, optional{sub, f.schema})
				f = c.orNull(f)
			}
			k.fields[name] = own
		}
		out.members = append(out.members, member{name, f.schema})
	}
	for _, m := range a.get("properties").list() {
		add(m.name, m.value)
	}
	for _, name := range required {
		if known[name] {
			continue
		}
		rest := a.get("additionalProperties")
		if rest == nil || hasPatterns(a) {
			rest = blankAt(a.get("required"))
		}
		add(name, rest)
	}
	return out, k
}

// others says which properties there may be besides, as far as the provider takes
// that.
func (c *compiler) others(out, a *node, root bool) {
	rest := a.get("additionalProperties")
	patterns := hasPatterns(a)
	takes := c.diet.family == documented || c.within > 0 && !root
	if patterns {
		c.losses.add(KeywordDropped, Looser, a.get("patternProperties"), "the provider does not take patterns of names")
	}
	switch {
	case rest == nil || rest.kind == 't':
		return
	case !takes:
		c.losses.add(KeywordDropped, Looser, rest, "the provider does not take additionalProperties")
		return
	case patterns:
		c.losses.add(KeywordDropped, Looser, rest, "it would refuse the properties of a pattern, which the provider does not take")
		return
	}
	f := form{}
	if rest.kind != 'f' {
		f = c.value(rest)
		if len(f.schema.list()) == 0 && f.schema != nil {
			return // any value
		}
	}
	if f.schema == nil {
		if rest.kind != 'f' {
			c.losses.add(KeywordChanged, Unsaid, rest, "no value fits other properties")
		}
		out.set("additionalProperties", boolNode(false))
		return
	}
	out.set("additionalProperties", f.schema)
}

// mapping makes the form of an object that has no names of its own, in strict mode.
func (c *compiler) mapping(a *node, required []string) (form, bool) {
	if len(a.get("properties").list()) > 0 || len(required) > 0 {
		return form{}, false
	}
	rest := a.get("additionalProperties")
	if hasPatterns(a) {
		return c.pairsOf(a, c.matching(a), ""), true
	}
	switch {
	case rest == nil || rest.kind == 't' || rest.kind == '{' && onlyAnnotates(rest):
		f := c.jsonText(a, "an object of any form", typeObject)
		c.losses.add(JSONAsText, Looser, a, "the string may hold JSON that is no object")
		return f, true
	case rest.kind == 'f':
		return form{}, false
	}
	return c.pairsOf(a, c.value(rest), ""), true
}

// matching makes the form of the values whose names match a pattern.
func (c *compiler) matching(a *node) form {
	patterns := a.get("patternProperties")
	c.losses.add(KeywordDropped, Looser, patterns, "the provider does not take patterns of names; all of their properties are told of in the same way")
	union := listNode()
	for _, m := range patterns.members {
		union.elems = append(union.elems, m.value)
	}
	switch rest := a.get("additionalProperties"); {
	case rest == nil || rest.kind == 't':
		c.losses.add(PropertiesClosed, Narrower, patterns, "other properties than those of the patterns cannot be written")
	case rest.kind == '{':
		union.elems = append(union.elems, rest)
	}
	if len(union.elems) == 1 {
		return c.value(union.elems[0])
	}
	made := objectNode(member{"anyOf", union})
	placed(made, patterns)
	return c.value(made)
}

// pairsOf makes the form of a list of pairs with values of a form.
func (c *compiler) pairsOf(a *node, value form, where string) form {
	if value.schema == nil {
		c.losses.add(PropertyDropped, Looser, a, "no value fits other properties than those listed; the model is not told of them")
		return form{}
	}
	c.losses.add(MapAsPairs, Recoded, a, "properties with names that are not listed are written as a list of objects with key and value%s", where)
	c.losses.add(MapAsPairs, Looser, a, "a key could be written twice, which is refused")
	pair := objectNode(
		member{"type", textNode("object")},
		member{"properties", objectNode(member{pairKey, objectNode(member{"type", textNode("string")})}, member{pairValue, value.schema})},
		member{"required", textsNode([]string{pairKey, pairValue})},
		member{"additionalProperties", boolNode(false)},
	)
	c.wrote(pair)
	out := objectNode(member{"type", textNode("array")}, member{"description", textNode("Properties as pairs of key and value.")}, member{"items", pair})
	return form{schema: out, codec: &codec{op: opPairs, items: value.codec}}
}

// restName is the property for those that have no names of their own.
const restName = "additional_properties"

// close says in strict mode what becomes of properties that have no names: those
// that the schema speaks of are written as pairs in a property of their own.
func (c *compiler) close(a, properties *node, k *codec) {
	rest := a.get("additionalProperties")
	var value form
	switch {
	case hasPatterns(a):
		value = c.matching(a)
	case rest == nil:
		c.losses.add(PropertiesClosed, Narrower, a, "other properties than those listed cannot be written")
		return
	case rest.kind == 'f':
		return
	default:
		value = c.value(rest)
	}
	name := restName
	for properties.get(name) != nil {
		name += "_"
	}
	pairs := c.pairsOf(a, value, ", in the property "+name)
	if pairs.schema == nil {
		return
	}
	properties.members = append(properties.members, member{name, c.orNull(pairs).schema})
	k.rest, k.items = name, value.codec
}
