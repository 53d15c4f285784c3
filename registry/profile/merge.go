package profile

import (
	"cmp"
	"math/big"
	"slices"
)

// merge returns a plain schema that a value fits if it fits two plain ones; nil if
// no value does. A schema that cannot be said exactly is a loss.
func (c *compiler) merge(a, b *node) *node {
	if len(a.members) == 0 {
		return joined(b, a, b)
	}
	if len(b.members) == 0 {
		return joined(a, a, b)
	}
	if !c.spend(1 + a.listed() + b.listed()) {
		c.overflow = true
		c.losses.reshaped(Looser, b, "the schema is too large with all alternatives taken apart")
		return a
	}
	out := joined(a, a, b)
	types := typesNamed(a) & typesNamed(b)
	if types == 0 {
		return nil
	}
	c.mergeProperties(out, a, b)
	for _, m := range b.members {
		mine := out.get(m.name)
		switch {
		case m.name == "type" || m.name == "enum" || m.name == "const":
		case m.name == "properties" || m.name == "additionalProperties":
		case mine == nil:
			if m.name == "items" && a.get("prefixItems") != nil || m.name == "prefixItems" && a.get("items") != nil {
				c.losses.add(Looser, m.value, "items and prefixItems are in schemas that all have to fit; the model is told of them as if they were in one")
			}
			out.set(m.name, m.value)
		case sameNode(mine, m.value):
		default:
			c.mergeKeyword(out, m.name, mine, m.value)
		}
	}
	if a.get("type") != nil || b.get("type") != nil {
		out.set("type", placed(typesNode(types), out))
	}
	return c.mergeValues(out, a, b)
}

// listed returns how many properties, names and values a schema lists.
func (n *node) listed() int {
	return len(n.get("properties").list()) + lengthOf(n.get("required")) + lengthOf(n.get("enum"))
}

// nameSet returns names as a set.
func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// joined returns a copy of n that was made of the targets of two.
func joined(n, a, b *node) *node {
	made := copyOf(n)
	made.via = slices.Concat(a.via, b.via)
	return made
}

// typesNode returns the keyword type for some types.
func typesNode(types typeSet) *node {
	names := typeNames(types)
	if len(names) == 1 {
		return textNode(names[0])
	}
	return textsNode(names)
}

// typeNames returns the names of some types, in an order that is always the same.
func typeNames(types typeSet) []string {
	var names []string
	for _, name := range []string{"string", "number", "boolean", "object", "array", "null"} {
		switch types & typesByName[name] {
		case 0:
		case typeInteger:
			names = append(names, "integer")
		default:
			names = append(names, name)
		}
	}
	return names
}

// splitTypes returns the types of a set one by one, without null.
func splitTypes(types typeSet) []typeSet {
	var all []typeSet
	for _, t := range []typeSet{typeString, typeNumber, typeBoolean, typeObject, typeArray} {
		if some := types & t; some != 0 {
			all = append(all, some)
		}
	}
	return all
}

func (c *compiler) mergeValues(out, a, b *node) *node {
	va, oka := valuesOf(a)
	vb, okb := valuesOf(b)
	if !oka && !okb {
		return out
	}
	out.drop("enum", "const")
	switch {
	case !oka:
		va = vb
	case okb:
		also := make(map[string]bool, len(vb))
		for _, v := range vb {
			also[v.canonical()] = true
		}
		va = slices.DeleteFunc(slices.Clone(va), func(v *node) bool { return !also[v.canonical()] })
	}
	if len(va) == 0 {
		return nil
	}
	list := listNode(va...)
	if enum := cmp.Or(a.get("enum"), b.get("enum")); enum != nil {
		placed(list, enum)
	}
	out.set("enum", list)
	return out
}

// mergeProperties merges what two schemas say about members. Each has its say on
// the names that only the other one lists.
func (c *compiler) mergeProperties(out, a, b *node) {
	pa, pb := a.get("properties"), b.get("properties")
	ra, rb := a.get("additionalProperties"), b.get("additionalProperties")
	rest := cmp.Or(ra, rb)
	if ra != nil && rb != nil {
		rest = bothNode(ra, rb)
	}
	if rest != nil {
		out.set("additionalProperties", rest)
	}
	if pa == nil && pb == nil {
		return
	}
	patterns := a.get("patternProperties")
	if !hasPatterns(a) {
		patterns = b.get("patternProperties")
	}
	if patterns != nil && (ra != nil || rb != nil) {
		c.losses.add(Looser, patterns, "patternProperties and additionalProperties are in schemas that all have to fit; the model is told of them as if they were in one")
	}
	all := placed(objectNode(), cmp.Or(pa, pb))
	index := map[string]int{}
	for _, m := range pa.list() {
		index[m.name] = len(all.members)
		all.members = append(all.members, m)
	}
	listed := map[string]bool{}
	for _, m := range pb.list() {
		listed[m.name] = true
		i, ok := index[m.name]
		switch {
		case ok:
			m.value = bothNode(all.members[i].value, m.value)
			all.members[i] = m
			continue
		case ra != nil && !hasPatterns(a):
			m.value = bothNode(m.value, ra)
		}
		all.members = append(all.members, m)
	}
	for i, m := range all.members {
		if rb != nil && !listed[m.name] && !hasPatterns(b) {
			all.members[i].value = bothNode(m.value, rb)
		}
	}
	if rest != nil && rest.kind == 'f' { // what is forbidden need not be told of
		all.members = slices.DeleteFunc(all.members, func(m member) bool { return m.value.kind == 'f' })
	}
	out.set("properties", all)
}

func hasPatterns(schema *node) bool {
	p := schema.get("patternProperties")
	return p != nil && len(p.members) > 0
}

// bothNode returns the schema of what fits two schemas.
func bothNode(a, b *node) *node {
	switch {
	case a.kind == 'f' || b.kind == 't':
		return a
	case b.kind == 'f' || a.kind == 't':
		return b
	case sameNode(a, b):
		return a
	}
	return placed(objectNode(member{"allOf", listNode(a, b)}), a)
}

// mergeKeyword merges a keyword that both schemas have, with different values.
func (c *compiler) mergeKeyword(out *node, name string, a, b *node) {
	switch name {
	case "required":
		names := a.texts()
		known := nameSet(names)
		for _, other := range b.texts() {
			if !known[other] {
				names = append(names, other)
			}
		}
		out.set(name, placed(textsNode(names), a))
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains":
		if compareNumbers(b, a) > 0 {
			out.set(name, b)
		}
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains":
		if compareNumbers(b, a) < 0 {
			out.set(name, b)
		}
	case "uniqueItems":
		out.set(name, placed(boolNode(true), a))
	case "items":
		if a.kind != '[' && b.kind != '[' && out.get("prefixItems") == nil {
			out.set(name, bothNode(a, b))
			return
		}
		c.losses.add(Looser, b, "%s is there twice, in schemas that all have to fit; the model is told of one", name)
	case "propertyNames":
		out.set(name, bothNode(a, b))
	case "not":
		out.set(name, placed(objectNode(member{"anyOf", listNode(a, b)}), a))
	default:
		if _, refuses := concerns(name); refuses {
			c.losses.add(Looser, b, "%s is there twice, in schemas that all have to fit; the model is told of one", name)
		}
	}
}

// compareNumbers compares two numbers that the gate has let through.
func compareNumbers(a, b *node) int {
	x, okx := new(big.Rat).SetString(a.text)
	y, oky := new(big.Rat).SetString(b.text)
	if !okx || !oky {
		return 0
	}
	return x.Cmp(y)
}
