package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A form is a schema that is made of the keywords that a provider takes.
type form struct {
	schema *node // nil: no value fits
	null   bool  // the schema takes null
}

// formRoot makes the schema of the arguments for a provider that knows only some
// keywords.
func (c *compiler) formRoot() (*compiled, error) {
	root, err := c.rootObject()
	if err != nil {
		return nil, err
	}
	said := map[string]bool{"type": true}
	c.enter(root)
	f := c.object(root, said, true)
	c.leave(root)
	if !c.rules.bareRoot {
		c.annotate(f.schema, root, said)
	}
	c.unsaid(root, typeObject, said)
	return &compiled{schema: f.schema}, nil
}

// value makes the form of a schema within the arguments.
func (c *compiler) value(n *node) form {
	c.depth++
	defer func() { c.depth-- }()
	bare := n
	if n.get("anyOf") != nil || n.get("oneOf") != nil {
		bare = without(n, "title", "description", "default") // that is not said of each alternative
	}
	alts := c.alternatives(bare)
	if len(alts) > 1 {
		c.depth++
		defer func() { c.depth-- }()
	}
	var forms []form
	null := false
	for _, a := range alts {
		c.enter(a)
		made, takesNull := c.plain(a)
		c.leave(a)
		forms = append(forms, made...)
		null = null || takesNull
	}
	f := c.combine(n, forms, null)
	if f.schema != nil && bare != n {
		c.annotate(f.schema, n, map[string]bool{})
	}
	return f
}

// plain makes the forms of a plain schema, one for each type, and reports whether it
// takes null.
func (c *compiler) plain(a *node) ([]form, bool) {
	said := map[string]bool{"type": true, "enum": true, "const": true}
	values, listed := valuesOf(a)
	if listed && len(values) == 0 && len(a.get("enum").list()) == 0 {
		return nil, false
	}
	types := typesNamed(a)
	if a.get("type") == nil {
		types = c.guess(a, values, listed)
	}
	null := types&typeNull != 0 && (!listed || slices.ContainsFunc(values, func(v *node) bool { return v.kind == 'n' }))
	if types&anyType == anyType && !listed {
		f := c.any(a, said)
		c.annotate(f.schema, a, said)
		c.unsaid(a, anyType, said)
		return []form{f}, f.null
	}
	var forms []form
	for _, t := range splitTypes(types) {
		f := c.typed(a, t, values, listed, said)
		if f.schema == nil {
			continue
		}
		c.annotate(f.schema, a, said)
		c.wrote(f.schema)
		forms = append(forms, f)
	}
	c.unsaid(a, types, said)
	return forms, null
}

// having returns the types of which there is a value.
func having(types typeSet, values []*node) typeSet {
	var there typeSet
	for _, v := range values {
		there |= typeOf(v)
	}
	var kept typeSet
	for _, t := range append(splitTypes(types), types&typeNull) {
		if t&there != 0 {
			kept |= t
		}
	}
	return kept
}

// guess returns the types of a schema that names none: those of its values, or those
// that its keywords are about.
func (c *compiler) guess(a *node, values []*node, listed bool) typeSet {
	var types typeSet
	if listed {
		for _, v := range values {
			types |= typeOf(v)
		}
		return types
	}
	for _, m := range a.members {
		t, _ := concerns(m.name)
		if t != anyType && m.name != "format" && c.doc.knows(m.name) {
			types |= t
		}
	}
	if types == 0 {
		return anyType
	}
	c.losses.add(Narrower, a, "there is no type; the other keywords are about %s", strings.Join(typeNames(types), " or "))
	return types
}

// typed makes the form of a plain schema for values of one type.
func (c *compiler) typed(a *node, t typeSet, values []*node, listed bool, said map[string]bool) form {
	if listed && t&(typeObject|typeArray) == 0 {
		return c.listed(a, t, values, said)
	}
	if listed {
		if !slices.ContainsFunc(values, func(v *node) bool { return typeOf(v)&t != 0 }) {
			return form{}
		}
		c.losses.add(Looser, enumOf(a), "the provider takes no objects and lists as values of an enum")
	}
	switch t {
	case typeObject:
		return c.object(a, said, false)
	case typeArray:
		return c.array(a, said)
	}
	out := typed(t)
	c.limits(out, a, t, said)
	return form{schema: out}
}

// enumOf returns the keyword that lists the values of a schema.
func enumOf(a *node) *node { return cmp.Or(a.get("enum"), a.get("const")) }

// combine makes one form of those that the alternatives of n have.
func (c *compiler) combine(n *node, forms []form, null bool) form {
	forms = c.distinct(forms)
	for _, f := range forms {
		null = null && !f.null
	}
	switch {
	case len(forms) == 0 && !null:
		return form{}
	case len(forms) == 0:
		return form{typed(typeNull), true}
	case len(forms) == 1 && !null:
		return forms[0]
	case len(forms) == 1:
		apart := c.rules.family == documented && forms[0].schema.get("enum") != nil
		return form{withNull(forms[0].schema, apart), true}
	}
	if types, ok := bareTypes(forms); ok && c.rules.family == structured {
		if null {
			types |= typeNull
		}
		return form{typed(types), null}
	}
	all := listNode()
	for _, f := range forms {
		if d, own := f.schema.get("description"), n.get("description"); d != nil && own != nil && sameNode(d, own) {
			f.schema.drop("description")
		}
		all.elems = append(all.elems, f.schema)
	}
	if null {
		all.elems = append(all.elems, typed(typeNull))
	}
	out := objectNode()
	if d := n.get("description"); d != nil && c.takesAnnotation(member{"description", d}) {
		out.set("description", d)
	}
	out.set("anyOf", all)
	return form{schema: out, null: null}
}

// distinct returns the forms that are different, and one for those that are lists
// of values of the same type.
func (c *compiler) distinct(forms []form) []form {
	var all []form
	seen := make(map[string]bool, len(forms))
	for _, f := range forms {
		if i := slices.IndexFunc(all, func(o form) bool { return oneEnum(o, f) }); i >= 0 {
			values := listNode(slices.Concat(all[i].schema.get("enum").elems, f.schema.get("enum").elems)...)
			values.elems, _ = valuesOf(objectNode(member{"enum", values}))
			all[i].schema.set("enum", values)
			continue
		}
		if len(forms) > 1 {
			text := string(f.schema.append(nil))
			if seen[text] {
				continue
			}
			seen[text] = true
		}
		all = append(all, f)
	}
	return all
}

// oneEnum reports whether two forms list values of one type and say nothing more.
func oneEnum(a, b form) bool {
	return len(a.schema.members) == 2 && len(b.schema.members) == 2 &&
		a.schema.get("enum") != nil && b.schema.get("enum") != nil && a.schema.get("type") != nil && b.schema.get("type") != nil &&
		sameNode(a.schema.get("type"), b.schema.get("type"))
}

// bareTypes returns the types of forms that say nothing more.
func bareTypes(forms []form) (typeSet, bool) {
	var all typeSet
	for _, f := range forms {
		types := typesNamed(f.schema)
		if len(f.schema.members) != 1 || f.schema.get("type") == nil {
			return 0, false
		}
		all |= types
	}
	return all, true
}

// annotate adds what is for the model to read.
func (c *compiler) annotate(out, a *node, said map[string]bool) {
	for _, keyword := range []string{"title", "description", "default"} {
		value := a.get(keyword)
		if value == nil || !c.takesAnnotation(member{keyword, value}) {
			continue
		}
		said[keyword] = true
		out.set(keyword, value)
	}
}

func (c *compiler) takesAnnotation(m member) bool {
	if !wellFormed(m) {
		return false
	}
	switch m.name {
	case "description":
		return true
	case "title":
		return c.rules.family != structured
	}
	return c.rules.family == documented && !tooLarge(m.value)
}

// unsaid notes the keywords of a plain schema that can refuse values of some types, and that
// no part of its form stands for.
func (c *compiler) unsaid(a *node, types typeSet, said map[string]bool) {
	for _, m := range a.members {
		about, refuses := concerns(m.name)
		if refuses && !said[m.name] && about&types != 0 && c.doc.knows(m.name) {
			c.losses.add(Looser, m.value, "the provider does not take %s%s", m.name, shown(m.value))
		}
	}
}

// shown returns a short value for a detail.
func shown(value *node) string {
	switch value.kind {
	case '0':
		if len(value.text) <= 40 {
			return fmt.Sprintf(" (%s)", value.text)
		}
	case '"':
		if len(value.text) <= 80 {
			return fmt.Sprintf(" (%s)", quoted(value.text))
		}
	}
	return ""
}
