package profile

import "slices"

// alternatives takes a schema apart into plain ones: a value fits the schema if it
// fits one of them. A plain schema has no $ref, allOf, anyOf or oneOf; where the
// provider takes references, one that says nothing more stays one. None means that
// no value fits.
func (c *compiler) alternatives(n *node) []*node {
	switch n.kind {
	case 't':
		return []*node{blankAt(n)}
	case 'f':
		return nil
	}
	if !c.spend(1 + len(n.members)/8) {
		c.overflow = true
		c.losses.reshaped(Looser, n, "the schema is too large with all references written out")
		return []*node{blankAt(n)}
	}
	ref := n.get("$ref")
	if ref == nil && n.get("allOf") == nil && n.get("anyOf") == nil && n.get("oneOf") == nil {
		return []*node{n}
	}
	base := without(n, "$ref", "allOf", "anyOf", "oneOf")
	if ref != nil && c.doc.alone {
		beside(n, base)
		if c.rules.refs {
			return []*node{n}
		}
		return c.both([]*node{base}, c.expand(ref))
	}
	if ref != nil && c.rules.refs && onlyAnnotates(base) && len(base.members) == len(n.members)-1 {
		return []*node{n}
	}
	alts := []*node{base}
	if ref != nil {
		alts = c.both(alts, c.expand(ref))
	}
	if all := n.get("allOf"); all != nil {
		for _, e := range all.elems {
			alts = c.both(alts, c.alternatives(e))
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if union := n.get(keyword); union != nil {
			alts = c.chosen(alts, keyword, union)
		}
	}
	return alts
}

// beside drops what an older dialect ignores beside a reference.
func beside(n, base *node) {
	for _, m := range n.members {
		if _, refuses := concerns(m.name); refuses && m.name != "$ref" {
			base.drop(m.name)
		}
	}
}

// chosen returns what fits one of alts and one of the schemas of an anyOf or oneOf.
func (c *compiler) chosen(alts []*node, keyword string, union *node) []*node {
	if len(alts) == 1 && onlyRequires(union) {
		c.losses.add(Looser, union, "%s says which properties are required together; the model is not told", keyword)
		return alts
	}
	var choices []*node
	for _, e := range union.elems {
		choices = append(choices, c.alternatives(e)...)
	}
	if len(choices)*len(alts) > maxAlternatives {
		c.losses.reshaped(Looser, union, "%s gives too many combinations of alternatives; the model is not told", keyword)
		return alts
	}
	if keyword == "oneOf" && !typesApart(choices) {
		c.losses.add(Looser, union, "exactly one has to fit; the model is told that one or more have to")
	}
	return c.both(alts, choices)
}

// typesApart reports whether no value is of the types of two schemas.
func typesApart(schemas []*node) bool {
	var seen typeSet
	for _, s := range schemas {
		if seen&typesNamed(s) != 0 {
			return false
		}
		seen |= typesNamed(s)
	}
	return true
}

// onlyRequires reports whether the schemas of a union say nothing but which
// properties are required.
func onlyRequires(union *node) bool {
	for _, e := range union.elems {
		for _, m := range e.members {
			if _, refuses := concerns(m.name); refuses && m.name != "required" && m.name != "not" {
				return false
			}
		}
		if e.kind != '{' || onlyAnnotates(e) {
			return false
		}
	}
	return true
}

// both returns what fits one of some schemas and one of others.
func (c *compiler) both(some, others []*node) []*node {
	var all []*node
	for _, a := range some {
		for _, b := range others {
			all = append(all, c.meet(a, b)...)
			if len(all) > maxAlternatives {
				c.losses.reshaped(Looser, b, "there are too many combinations of alternatives; the model is told of the others")
				return some
			}
		}
	}
	return all
}

// meet merges two plain schemas, of which one may be a reference.
func (c *compiler) meet(a, b *node) []*node {
	switch {
	case b.get("$ref") != nil && onlyAnnotates(a):
		return []*node{described(b, a)}
	case a.get("$ref") != nil && onlyAnnotates(b):
		return []*node{described(a, b)}
	case b.get("$ref") != nil:
		return c.both([]*node{a}, c.expand(b.get("$ref")))
	case a.get("$ref") != nil:
		return c.both(c.expand(a.get("$ref")), []*node{b})
	}
	if m := c.merge(a, b); m != nil {
		return []*node{m}
	}
	return nil // no value fits both
}

// described returns schema with the annotations of others that it has none of.
func described(schema, others *node) *node {
	made := copyOf(schema)
	for _, m := range others.members {
		if made.get(m.name) == nil {
			made.members = append(made.members, m)
		}
	}
	return made
}

// expand returns the alternatives of what a reference leads to, even where the
// provider takes references.
func (c *compiler) expand(ref *node) []*node {
	target := c.target(ref)
	if target == nil {
		return []*node{c.typeOnly(ref)}
	}
	c.expanded += target.size
	var all []*node
	for _, a := range c.writtenOut(target) {
		made := copyOf(a)
		made.via = append(slices.Clip(a.via), target)
		all = append(all, made)
	}
	return all
}

// writtenOut returns the alternatives of a schema, none of which is a reference.
func (c *compiler) writtenOut(n *node) []*node {
	var all []*node
	for _, a := range c.alternatives(n) {
		if ref := a.get("$ref"); ref != nil {
			all = append(all, c.both([]*node{withoutRef(a)}, c.expand(ref))...)
		} else {
			all = append(all, a)
		}
	}
	return all
}

// without returns a schema without some of its keywords.
func without(n *node, keywords ...string) *node {
	made := copyOf(n)
	made.drop(keywords...)
	return made
}

func withoutRef(n *node) *node { return without(n, "$ref", "$defs", "definitions") }

// blankAt returns the schema of any value, at the place of n.
func blankAt(n *node) *node {
	return &node{kind: '{', parent: n.parent, token: n.token, at: n.at}
}

// lengthOf returns how many elements a list has.
func lengthOf(list *node) int {
	if list == nil {
		return 0
	}
	return len(list.elems)
}

// valuesOf returns the values that enum and const allow, each once, and whether
// there are such keywords.
func valuesOf(schema *node) ([]*node, bool) {
	constant, enum := schema.get("const"), schema.get("enum")
	switch {
	case constant == nil && enum == nil:
		return nil, false
	case enum == nil:
		return []*node{constant}, true
	}
	seen := make(map[string]bool, len(enum.elems))
	var all []*node
	for _, e := range enum.elems {
		text := e.canonical()
		if seen[text] || constant != nil && text != constant.canonical() {
			continue
		}
		seen[text] = true
		all = append(all, e)
	}
	return all, true
}
