package profile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// wholeRoot makes the schema of the arguments for a provider that knows JSON
// Schema, but wants an object at the root and nothing else.
func (c *compiler) wholeRoot() (*compiled, error) {
	root, err := c.rootObject()
	if err != nil {
		return nil, err
	}
	c.enter(root)
	defer c.leave(root)
	out := typed(typeObject)
	edited := c.editObject(root)
	for _, m := range edited.members {
		switch {
		case m.name == "type":
		case m.name == "enum" || m.name == "const" || m.name == "not" && !c.rules.rootNot,
			c.rules.bareRoot && m.name != "properties" && m.name != "required":
			was := cmp.Or(root.get(m.name), m.value)
			if _, refuses := concerns(m.name); refuses && was.kind != 't' {
				c.losses.add(Looser, was, "the provider does not take %s for the arguments as a whole", m.name)
			}
		default:
			out.members = append(out.members, m)
		}
	}
	if out.get("properties") == nil {
		out.set("properties", objectNode())
	}
	if required := out.get("required"); required != nil && len(required.elems) == 0 && c.rules.bareRoot {
		out.drop("required")
	}
	keys := c.renameArguments(out, root)
	defs := objectNode()
	for i := 0; i < len(c.defs); i++ { // one may lead to others
		c.defs[i].out = c.edit(c.defs[i].target)
		defs.set(c.defs[i].name, c.defs[i].out)
	}
	if len(c.defs) > 0 {
		out.set("$defs", defs)
	}
	return &compiled{schema: out, codec: keys}, nil
}

// edit returns a schema as one of 2020-12, without what the provider does not take.
func (c *compiler) edit(n *node) *node {
	switch n.kind {
	case 't':
		return placed(objectNode(), n)
	case 'f':
		return placed(objectNode(member{"not", objectNode()}), n)
	}
	if !c.spend(1) || c.rules.depth > 0 && c.depth >= c.rules.depth {
		c.losses.add(Looser, n, "the schema is too deep or too large here; the model is not told more")
		return objectNode()
	}
	c.depth++
	defer func() { c.depth-- }()
	if ref := n.get("$ref"); ref != nil {
		return c.editReference(n, ref)
	}
	return c.editObject(n)
}

func (c *compiler) editReference(n, ref *node) *node {
	rest := withoutRef(n)
	if c.doc.alone {
		beside(n, rest)
	}
	out := c.editObject(rest)
	if c.rules.refs {
		target := c.doc.resolve(ref)
		if target == nil {
			return out
		}
		made := placed(c.define(target).reference(), n)
		made.members = append(made.members, out.members...)
		return made
	}
	target := c.target(ref)
	if target == nil {
		return described(c.editObject(c.typeOnly(ref)), out)
	}
	c.open[target]++
	c.depth-- // the two are one schema
	made := c.edit(target)
	c.depth++
	c.open[target]--
	if onlyAnnotates(out) {
		return described(out, made)
	}
	all := placed(listNode(made), n)
	if own := out.get("allOf"); own != nil {
		all.elems = append(all.elems, own.elems...)
	}
	out.set("allOf", all)
	return out
}

// editObject edits the keywords of a schema that has no reference.
func (c *compiler) editObject(n *node) *node {
	out := placed(objectNode(), n)
	for _, m := range n.members {
		if c.refuses(n, m) {
			continue
		}
		switch m.name {
		case "items":
			c.editItems(out, n, m.value)
		case "additionalItems": // with items
		case "dependencies": // which newer dialects have under other names
			c.losses.add(Looser, m.value, "the provider does not take dependencies")
		case "patternProperties":
			c.editPatterns(out, n, m.value)
		case "enum":
			values, _ := valuesOf(objectNode(member{"enum", m.value}))
			out.set("enum", placed(listNode(values...), m.value))
		case "additionalProperties":
			rest := m.value
			if rest.kind == '{' { // every provider knows the boolean forms here
				rest = c.edit(rest)
			}
			out.set(m.name, rest)
		default:
			out.set(m.name, c.editValue(m))
		}
	}
	if slices.ContainsFunc(n.get("patternProperties").list(), func(m member) bool { return !c.rules.takesPattern(m.name) }) {
		out.drop("additionalProperties")
	}
	if c.rules.emptyMaps && typesNamed(n)&typeArray != 0 && n.get("type") != nil && out.get("items") == nil {
		out.set("items", objectNode())
	}
	c.wrote(out)
	return out
}

func (c *compiler) editValue(m member) *node {
	switch schemas, byName := schemagate.Holds(m.name); {
	case !schemas:
		return m.value
	case byName:
		all := objectNode()
		for _, sub := range m.value.members {
			all.members = append(all.members, member{sub.name, c.edit(sub.value)})
		}
		return all
	case m.value.kind == '[':
		list := placed(listNode(), m.value)
		for _, e := range m.value.elems {
			list.elems = append(list.elems, c.edit(e))
		}
		return list
	}
	return c.edit(m.value)
}

// editItems turns tuples of older dialects into those of 2020-12.
func (c *compiler) editItems(out, n, items *node) {
	if items.kind != '[' {
		out.set("items", c.edit(items))
		return
	}
	if len(items.elems) > 0 {
		out.set("prefixItems", c.editValue(member{"prefixItems", items}))
	}
	if rest := n.get("additionalItems"); rest != nil {
		out.set("items", c.edit(rest))
	}
}

func (c *compiler) editPatterns(out, n, patterns *node) {
	all := objectNode()
	for _, m := range patterns.members {
		if c.rules.takesPattern(m.name) {
			all.members = append(all.members, member{m.name, c.edit(m.value)})
			continue
		}
		c.losses.add(Looser, m.value, "the provider does not take this regular expression")
		if rest := n.get("additionalProperties"); rest != nil && rest.kind != 't' {
			c.losses.add(Looser, rest, "additionalProperties would refuse the properties of a pattern that the provider does not take")
		}
	}
	if len(all.members) > 0 {
		out.set("patternProperties", all)
	}
}

// refuses reports whether a keyword is not sent, and notes it if that matters to calls.
func (c *compiler) refuses(n *node, m member) bool {
	if !c.doc.knows(m.name) || !wellFormed(m) {
		return true
	}
	switch m.name {
	case "$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions":
		return true // they say nothing about values
	case "$ref", "$dynamicRef", "$recursiveRef":
		return true // it is written elsewhere
	case "pattern":
		if !c.rules.takesPattern(m.value.text) {
			c.losses.add(Looser, m.value, "the provider does not take this regular expression")
			return true
		}
	case "enum":
		if len(m.value.elems) == 0 {
			c.losses.add(Looser, m.value, "the provider takes no empty enum")
			return true
		}
	case "additionalItems":
		if items := n.get("items"); items == nil || items.kind != '[' {
			return true
		}
	}
	if schemas, _ := schemagate.Holds(m.name); schemas || !tooLarge(m.value) {
		return false
	}
	if _, refuses := concerns(m.name); refuses {
		c.losses.add(Looser, m.value, "the provider may not read so large a number")
	}
	return true
}

// wellFormed reports whether a keyword for people has the form that validators ask
// for; the registry does not look at it.
func wellFormed(m member) bool {
	switch m.name {
	case "title", "description", "$comment", "format", "contentEncoding", "contentMediaType":
		return m.value.kind == '"' && !strings.ContainsRune(m.value.text, 0)
	case "deprecated", "readOnly", "writeOnly":
		return m.value.kind == 't' || m.value.kind == 'f'
	case "examples":
		return m.value.kind == '['
	case "contentSchema":
		return m.value.kind == '{' || m.value.kind == 't' || m.value.kind == 'f'
	}
	return true
}
