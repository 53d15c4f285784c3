package profile

import (
	"slices"
	"strconv"
	"strings"
)

// listed makes the form of some values of one type.
func (c *compiler) listed(a *node, t typeSet, values []*node, said map[string]bool) form {
	out := typed(t)
	var kept []*node
	some := false
	for _, v := range values {
		if typeOf(v)&t == 0 {
			continue
		}
		some = true
		if c.takesValue(v) {
			kept = append(kept, v)
		} else {
			c.losses.add(Narrower, enumOf(a), "the provider does not take this value%s", shown(v))
		}
	}
	switch {
	case !some:
		return form{}
	case len(kept) == 0 || c.rules.family == documented && t == typeBoolean:
		if t != typeBoolean || len(kept) < 2 {
			c.losses.add(Looser, enumOf(a), "the provider does not take these values; the model is told of the type")
		}
	default:
		out.set("enum", listNode(kept...))
		for _, m := range a.members {
			// Values that are listed need no more: those that do not fit are refused.
			if about, _ := concerns(m.name); about&t != 0 && about != anyType && !said[m.name] && !c.keeps(m, t) {
				said[m.name] = true
				c.losses.add(Looser, m.value, "the model is told of the values alone")
			}
		}
	}
	c.limits(out, a, t, said)
	return form{schema: out}
}

// takesValue reports whether the provider takes a value in an enum.
func (c *compiler) takesValue(v *node) bool {
	if tooLarge(v) {
		return false
	}
	switch c.rules.family {
	case documented:
		return v.kind != '"' || v.text != ""
	case structured:
		if v.kind == '0' && !strings.ContainsAny(v.text, ".eE") {
			const exactly = 1 << 53
			i, err := strconv.ParseInt(v.text, 10, 64)
			return err == nil && -exactly <= i && i <= exactly
		}
	}
	return true
}

// limits adds the keywords of a string, number or boolean that the provider takes.
func (c *compiler) limits(out, a *node, t typeSet, said map[string]bool) {
	for _, m := range a.members {
		about, _ := concerns(m.name)
		if about&t == 0 || about == anyType {
			continue
		}
		if c.keeps(m, t) {
			out.set(m.name, m.value)
			said[m.name] = true
			continue
		}
		if c.rules.family == documented && (m.name == "exclusiveMinimum" || m.name == "exclusiveMaximum") {
			c.including(out, m, t, said)
		}
	}
}

// including writes a limit that is not included as one that is.
func (c *compiler) including(out *node, m member, t typeSet, said map[string]bool) {
	keyword, step := "minimum", int64(1)
	if m.name == "exclusiveMaximum" {
		keyword, step = "maximum", -1
	}
	const safe = 1 << 53
	i, err := strconv.ParseInt(m.value.text, 10, 64)
	value := m.value
	switch {
	case tooLarge(m.value):
		return
	case err == nil && -safe < i && i < safe && t == typeInteger:
		value = &node{kind: '0', text: strconv.FormatInt(i+step, 10)}
	default:
		c.losses.add(Looser, m.value, "the limit is said to be included")
	}
	said[m.name] = true
	if other := out.get(keyword); other == nil || compareNumbers(other, value)*int(step) < 0 {
		out.set(keyword, value)
	}
}

// keeps reports whether the provider takes a keyword of a string or number.
func (c *compiler) keeps(m member, t typeSet) bool {
	if tooLarge(m.value) || !wellFormed(m) {
		return false
	}
	family := c.rules.family
	if family == structured {
		return c.within > 0 && (m.name != "pattern" || c.rules.takesPattern(m.value.text))
	}
	switch m.name {
	case "pattern":
		return false
	case "minimum", "maximum":
		return true
	case "format":
		return slices.Contains(formats(family, t), m.value.text)
	}
	return false
}

// formats returns the formats that a provider takes for a type.
func formats(f family, t typeSet) []string {
	switch {
	case f == documented && t == typeString:
		return []string{"date-time", "date", "time"}
	case f == documented && t == typeInteger:
		return []string{"int32", "int64"}
	case f == documented && t&typeFraction != 0:
		return []string{"float", "double"}
	}
	return nil
}

// any makes the form of any value at all.
func (c *compiler) any(a *node, said map[string]bool) form {
	if c.rules.family != documented {
		return form{schema: objectNode(), null: true}
	}
	if c.written > c.limit {
		c.losses.add(Narrower, a, "any value is allowed; the schema is too large to say so, the model is told of a string")
		return form{schema: typed(typeString)}
	}
	c.losses.add(Narrower, a, "any value is allowed; lists within lists cannot be told of")
	c.written += 360
	all := c.kinds()
	all.elems = append(all.elems, objectNode(member{"type", textNode("array")}, member{"items", objectNode(member{"anyOf", c.kinds()})}),
		typed(typeNull))
	return form{schema: objectNode(member{"anyOf", all}), null: true}
}

// kinds returns the schemas of all values but lists and null.
func (c *compiler) kinds() *node {
	all := listNode()
	for _, t := range []typeSet{typeString, typeNumber, typeBoolean, typeObject} {
		all.elems = append(all.elems, typed(t))
	}
	return all
}
