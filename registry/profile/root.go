package profile

import (
	"cmp"
	"slices"
	"strings"
)

// rootObject returns the plain schema of an object that the arguments have to fit,
// with the alternatives of the root merged into one.
func (c *compiler) rootObject() (*node, error) {
	root := c.doc.root
	var objects []*node
	for _, a := range c.writtenOut(root) { // no provider takes a reference at the root
		if typesNamed(a)&typeObject != 0 {
			objects = append(objects, a)
		}
	}
	if values, ok := valuesOf(root); ok && !slices.ContainsFunc(values, func(v *node) bool { return v.kind == '{' }) {
		return nil, errNoObject
	}
	switch len(objects) {
	case 0:
		return nil, errNoObject
	case 1:
		return objects[0], nil
	}
	return c.mergeObjects(objects), nil
}

// mergeObjects makes one schema of alternatives: all of their properties, of which
// those are required that each of them requires.
func (c *compiler) mergeObjects(objects []*node) *node {
	at := cmp.Or(c.doc.root.get("anyOf"), c.doc.root.get("oneOf"), c.doc.root)
	c.losses.reshaped(Looser, at, "the provider takes no alternatives for the arguments as a whole; the model is told of all properties, and which of them belong together is not said")
	out := objectNode()
	properties := objectNode()
	index := map[string]int{}
	variants := map[string][]*node{}
	seen := map[string]bool{}
	required := slices.Clone(objects[0].get("required").texts())
	closed := true
	for _, o := range objects {
		out.via = append(out.via, o.via...)
		own := nameSet(o.get("required").texts())
		required = slices.DeleteFunc(required, func(name string) bool { return !own[name] })
		rest := o.get("additionalProperties")
		closed = closed && rest != nil && rest.kind == 'f' && !hasPatterns(o)
		for _, m := range o.get("properties").list() {
			if m.value.kind == 'f' {
				continue
			}
			if _, ok := index[m.name]; !ok {
				index[m.name] = len(properties.members)
				properties.members = append(properties.members, m)
			}
			if text := m.name + "\x00" + m.value.canonical(); !seen[text] {
				seen[text] = true
				variants[m.name] = append(variants[m.name], m.value)
			}
		}
	}
	for i, m := range properties.members {
		if all := variants[m.name]; len(all) > 1 {
			properties.members[i].value = placed(objectNode(member{"anyOf", listNode(all...)}), m.value)
		}
	}
	if !closed {
		c.losses.reshaped(Narrower, at, "a property has the schemas of the alternatives that speak of it, in the others too")
	}
	c.mergedAway(out, objects)
	out.set("type", textNode("object"))
	out.set("properties", properties)
	if len(required) > 0 {
		out.set("required", textsNode(required))
	}
	if closed {
		out.set("additionalProperties", boolNode(false))
	}
	return out
}

// mergedAway keeps the keywords that all alternatives have in the same form, and
// notes the others.
func (c *compiler) mergedAway(out *node, objects []*node) {
	for i, o := range objects {
		for _, m := range o.members {
			switch m.name {
			case "type", "properties", "required":
				continue
			case "additionalProperties":
				if m.value.kind != '{' {
					continue
				}
			}
			_, refuses := concerns(m.name)
			everywhere := !slices.ContainsFunc(objects, func(o *node) bool { return o.get(m.name) == nil || !sameNode(o.get(m.name), m.value) })
			switch {
			case everywhere && i == 0:
				out.set(m.name, m.value)
			case !everywhere && refuses:
				c.losses.add(Looser, m.value, "%s is said of one of several alternatives, which are one object now", m.name)
			}
		}
	}
}

// renameArguments gives the properties of the root names that the provider takes,
// and returns how they are called back; nil if they keep theirs. The description has the
// name that a property had.
func (c *compiler) renameArguments(out, root *node) *codec {
	rule := c.rules.property
	if rule.most == 0 {
		return nil
	}
	properties := out.get("properties")
	names := make([]string, len(properties.members))
	for i, m := range properties.members {
		names[i] = m.name
	}
	renamed := map[string]string{}
	k := &codec{fields: map[string]field{}}
	for i, name := range assignNames(names, func(int) nameRule { return rule }) {
		if name == names[i] {
			continue
		}
		at := root.get("properties").get(names[i])
		c.losses.add(Recoded, at, "the provider does not take the name %s; it is called %s", quoted(names[i]), name)
		properties.members[i] = member{name, named(properties.members[i].value, names[i])}
		renamed[names[i]] = name
		k.fields[name] = field{name: names[i]}
	}
	if len(renamed) == 0 {
		return nil
	}
	if required := out.get("required"); required != nil {
		names := required.texts()
		for i, name := range names {
			if other, ok := renamed[name]; ok {
				names[i] = other
			}
		}
		out.set("required", textsNode(names))
	}
	for _, keyword := range []string{
		"propertyNames", "patternProperties", "additionalProperties", "dependentRequired", "dependentSchemas",
		"if", "then", "else", "not", "allOf", "anyOf", "oneOf",
	} {
		value := root.get(keyword)
		if value == nil || out.get(keyword) == nil || keyword == "additionalProperties" && (value.kind == 't' || !hasPatterns(root)) {
			continue
		}
		out.drop(keyword)
		c.losses.add(Looser, value, "%s would look at names that were changed", keyword)
	}
	return k
}

// named returns the schema of a property with the name that it had in its description.
func named(n *node, name string) *node {
	said := ""
	if d := n.get("description"); d != nil {
		said = d.text
	}
	name = description(name)
	if n.kind != '{' || strings.Contains(said, name) {
		return n
	}
	out := copyOf(n)
	out.set("description", textNode(strings.TrimSuffix(name+": "+said, ": ")))
	return out
}
