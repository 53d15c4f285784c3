package profile

import "slices"

// object makes the form of an object.
func (c *compiler) object(a *node, said map[string]bool, root bool) form {
	for _, keyword := range []string{"properties", "required", "additionalProperties", "patternProperties"} {
		said[keyword] = true
	}
	if !root && c.rules.depth > 0 && c.depth >= c.rules.depth {
		if len(a.get("properties").list()) > 0 || a.get("additionalProperties") != nil || hasPatterns(a) {
			c.losses.add(Looser, a, "the schema is nested too deep for the provider; the model is told of an object and no more")
		}
		return form{schema: typed(typeObject)}
	}
	required := a.get("required").texts()
	properties := c.members(a, required)
	out := typed(typeObject)
	if len(properties.members) > 0 || root {
		out.set("properties", properties)
	}
	told := make(map[string]bool, len(properties.members))
	for _, m := range properties.members {
		told[m.name] = true
	}
	required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return !told[name] })
	if len(required) > 0 {
		if c.rules.family == structured && !root && c.within == 0 {
			c.losses.add(Looser, a.get("required"), "servers do not show the model which properties of an object within the arguments are required")
		}
		out.set("required", textsNode(required))
	}
	c.others(out, a, root)
	return form{schema: out}
}

// members makes the forms of the properties, and of those that are required without
// being listed.
func (c *compiler) members(a *node, required []string) *node {
	out := objectNode()
	needed := nameSet(required)
	known := map[string]bool{}
	add := func(name string, sub *node) {
		known[name] = true
		f := c.value(sub)
		if f.schema == nil {
			c.losses.add(Looser, sub, "no value fits this property; the model is not told of it")
			if needed[name] {
				c.losses.add(Looser, a.get("required"), "no value fits a property that is required")
			}
			return
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
	return out
}

// others says which properties there may be besides, as far as the provider takes
// that.
func (c *compiler) others(out, a *node, root bool) {
	rest := a.get("additionalProperties")
	patterns := hasPatterns(a)
	takes := c.rules.family == documented || c.within > 0 && !root
	if patterns {
		c.losses.add(Looser, a.get("patternProperties"), "the provider does not take patterns of names")
	}
	switch {
	case rest == nil || rest.kind == 't':
		return
	case !takes:
		c.losses.add(Looser, rest, "the provider does not take additionalProperties")
		return
	case patterns:
		c.losses.add(Looser, rest, "it would refuse the properties of a pattern, which the provider does not take")
		return
	}
	switch f := c.value(rest); {
	case f.schema == nil:
		out.set("additionalProperties", boolNode(false))
	case len(f.schema.members) > 0: // else it is any value
		out.set("additionalProperties", f.schema)
	}
}
