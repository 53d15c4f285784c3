package profile

import (
	"cmp"
	"strconv"
)

// array makes the form of a list.
func (c *compiler) array(a *node, said map[string]bool) form {
	out := typed(typeArray)
	if c.rules.depth > 0 && c.depth >= c.rules.depth {
		return c.cutArray(out, a, said)
	}
	prefix, rest := c.tuple(a, said)
	c.within++
	defer func() { c.within-- }()
	var items form
	most := -1 // as many elements as there may be; less than 0: any number
	switch {
	case len(prefix) > 0:
		if rest != nil && rest.kind == 'f' {
			most = len(prefix)
		}
		if c.rules.family == documented {
			items = c.positions(out, prefix, rest)
			break
		}
		c.losses.add(Looser, a, "the provider does not take a schema for each element")
		rest = nil
	case rest != nil:
		items = c.value(rest)
		if items.schema == nil {
			most = 0
		}
	}
	if items.schema == nil && out.get("prefixItems") == nil {
		items = c.any(cmp.Or(rest, a), map[string]bool{})
	}
	if items.schema != nil {
		out.set("items", items.schema)
	}
	for _, m := range a.members {
		switch m.name {
		case "minItems", "maxItems":
			if (c.rules.family != structured || c.within > 1) && isCount(m.value) {
				out.set(m.name, m.value)
				said[m.name] = true
			}
		case "uniqueItems", "contains", "minContains", "maxContains":
			said[m.name] = m.name == "uniqueItems" && m.value.kind == 'f'
		}
	}
	c.mostItems(out, a, most)
	return form{schema: out}
}

// cutArray makes the form of a list that is nested too deep.
func (c *compiler) cutArray(out, a *node, said map[string]bool) form {
	for _, keyword := range []string{"items", "prefixItems", "additionalItems"} {
		said[keyword] = true
		if m := a.get(keyword); m != nil {
			c.losses.add(Looser, m, "the schema is nested too deep for the provider; the model is told of a list and no more")
		}
	}
	c.losses.add(Narrower, a, "the schema is nested too deep for the provider; lists within this one cannot be told of")
	items := objectNode()
	if c.rules.family == documented {
		items.set("anyOf", c.kinds())
	}
	out.set("items", items)
	return form{schema: out}
}

// mostItems says that there are no more elements than that.
func (c *compiler) mostItems(out, a *node, most int) {
	if most < 0 {
		return
	}
	if c.rules.family == structured && c.within <= 1 {
		c.losses.add(Looser, a, "the provider does not take how many elements there may be")
		return
	}
	if was := out.get("maxItems"); was != nil {
		if n, err := strconv.Atoi(was.text); err == nil && n <= most {
			return
		}
	}
	out.set("maxItems", numberNode(most))
}

// tuple returns the schemas of the first elements, and of the others; nil if there
// is none.
func (c *compiler) tuple(a *node, said map[string]bool) (prefix []*node, rest *node) {
	items := a.get("items")
	if items != nil && items.kind == '[' {
		said["items"], said["additionalItems"] = true, true
		return items.elems, a.get("additionalItems")
	}
	if p := a.get("prefixItems"); p != nil && c.doc.knows("prefixItems") {
		said["prefixItems"] = true
		prefix = p.elems
	}
	said["items"] = true
	return prefix, items
}

// positions says which element has which schema, for a provider that takes that.
func (c *compiler) positions(out *node, prefix []*node, rest *node) form {
	list := listNode()
	for _, p := range prefix {
		f := c.value(p)
		if f.schema == nil {
			c.losses.add(Looser, p, "no value fits; the model is told that any does")
			f = c.any(p, map[string]bool{})
		}
		list.elems = append(list.elems, f.schema)
	}
	out.set("prefixItems", list)
	if rest == nil || rest.kind == 'f' {
		return form{}
	}
	return c.value(rest)
}
