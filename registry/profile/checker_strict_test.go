package profile_test

import (
	"slices"
	"strings"
)

// The rules of strict mode, as of November 2026:
// developers.openai.com/api/docs/guides/structured-outputs, its supported schemas and
// limits. From the errors that users were answered: keywords that are not permitted,
// formats, what stands beside $ref, and schemas without a type. How levels are counted
// is not said; here each object and array is one.

// The limits of strict mode.
const (
	strictProperties = 5_000
	strictNesting    = 10
	strictText       = 120_000 // characters of names, enums and constants
	strictEnum       = 1_000   // values of all enums
	strictLongEnum   = 250     // strings in an enum from which on they are counted
	strictEnumText   = 15_000  // characters in such an enum
)

// A strictChecker goes through a schema of strict mode.
type strictChecker struct {
	*violations
	root       *node
	properties int
	values     int
	text       int
}

// checkStrict adds what is refused of a strict schema.
func (v *violations) checkStrict(schema *node) {
	c := &strictChecker{violations: v, root: schema}
	if !schema.get("type").says("object") {
		c.add("", "the type of the whole is not object")
	}
	for _, key := range []string{"anyOf", "$ref", "enum", "const"} {
		if schema.get(key) != nil {
			c.add(corpusMember("", key), "not taken at the top level")
		}
	}
	c.schema("", schema)
	for _, key := range []string{"$defs", "definitions"} {
		defs := schema.get(key)
		if defs == nil {
			continue
		}
		if !defs.is('{') {
			c.add(corpusMember("", key), "not an object")
			continue
		}
		for _, name := range defs.names {
			c.text += len([]rune(name))
			c.schema(corpusMember(corpusMember("", key), name), defs.get(name))
		}
	}
	if d := c.nesting(schema, nil); d > strictNesting {
		c.add("", "%d levels", d)
	}
	if c.properties > strictProperties {
		c.add("", "%d properties", c.properties)
	}
	if c.values > strictEnum {
		c.add("", "%d values in enums", c.values)
	}
	if c.text > strictText {
		c.add("", "%d characters in names and values", c.text)
	}
	v.checkPatterns(schema)
}

// schema checks one schema and those below.
func (c *strictChecker) schema(place string, n *node) {
	if !n.is('{') {
		c.add(place, "not an object")
		return
	}
	if ref := n.get("$ref"); ref != nil {
		if len(n.names) > 1 {
			c.add(place, "$ref with others: %v", n.names)
		}
		ok := ref.is('"') && (ref.text == "#" || strings.HasPrefix(ref.text, "#/$defs/") || strings.HasPrefix(ref.text, "#/definitions/"))
		if !ok || c.root.resolve(ref.text) == nil {
			c.add(place, "$ref %q leads nowhere", ref.text)
		}
		return
	}
	known := []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "title",
		"pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
	if place == "" {
		known = append(known, "$defs", "definitions")
	}
	c.only(place, n, known...)
	if n.get("type") == nil && n.get("anyOf") == nil {
		c.add(place, "neither type nor anyOf")
	}
	c.kinds(place, n)
	c.object(place, n)
	c.choices(place, n)
	c.bounds(place, n)
	c.checkText(corpusMember(place, "description"), n.get("description"))
	c.checkText(corpusMember(place, "title"), n.get("title"))
	if branches := n.get("anyOf"); branches != nil {
		if len(branches.items) == 0 {
			c.add(place, "anyOf of nothing")
		}
		for i, branch := range branches.items {
			c.schema(corpusElement(corpusMember(place, "anyOf"), i), branch)
		}
	}
	if items := n.get("items"); items != nil {
		c.schema(corpusMember(place, "items"), items)
	}
}

// kinds checks the type.
func (c *strictChecker) kinds(place string, n *node) {
	t, names := n.get("type"), corpusTypes(n)
	for _, name := range names {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, name) {
			c.add(place, "type %q", name)
		}
	}
	if t != nil && !t.is('"') && (len(names) != 2 || names[0] == names[1] || !slices.Contains(names, "null")) {
		c.add(place, "type %v is not one type or null", names)
	}
	if slices.Contains(names, "array") && n.get("items") == nil {
		c.add(place, "array schema missing items")
	}
}

// object checks that nothing is left open.
func (c *strictChecker) object(place string, n *node) {
	properties, required, more := n.get("properties"), n.get("required"), n.get("additionalProperties")
	if !slices.Contains(corpusTypes(n), "object") {
		if properties != nil || required != nil || more != nil {
			c.add(place, "members of what is no object")
		}
		return
	}
	if !more.is('t') || more.text != "false" {
		c.add(place, "additionalProperties is not false")
	}
	if !properties.is('{') {
		c.add(place, "object schema missing properties")
		return
	}
	if required == nil {
		if len(properties.names) > 0 {
			c.add(place, "required is missing")
		}
	} else {
		c.checkNames(corpusMember(place, "required"), required, properties, true)
	}
	c.properties += len(properties.names)
	needed := map[string]bool{}
	for _, r := range required.list() {
		needed[r.text] = needed[r.text] || r.is('"')
	}
	for _, name := range properties.names {
		c.text += len([]rune(name))
		if required != nil && !needed[name] {
			c.add(place, "%q is not required", name)
		}
		c.schema(corpusMember(corpusMember(place, "properties"), name), properties.get(name))
	}
}

// choices checks enum and const.
func (c *strictChecker) choices(place string, n *node) {
	if constant := n.get("const"); constant != nil {
		if !corpusFits(constant, corpusTypes(n)) {
			c.add(place, "const is not of type %v", corpusTypes(n))
		}
		c.text += len([]rune(constant.text))
	}
	list := n.get("enum")
	if list == nil {
		return
	}
	if n.get("type") == nil {
		c.add(place, "enum without type")
	}
	c.checkEnum(place, list, corpusTypes(n))
	c.values += len(list.items)
	length := 0
	for _, item := range list.items {
		if item.is('"') {
			length += len([]rune(item.text))
		}
	}
	c.text += length
	if len(list.items) > strictLongEnum && length > strictEnumText {
		c.add(place, "an enum of %d values and %d characters", len(list.items), length)
	}
}

// bounds checks formats, numbers and counts.
func (c *strictChecker) bounds(place string, n *node) {
	if f := n.get("format"); f != nil && !slices.Contains(
		[]string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}, f.text) {
		c.add(place, "%q is not a valid format", f.text)
	}
	for _, key := range []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if bound := n.get(key); bound != nil && !corpusFinite(bound) {
			c.add(corpusMember(place, key), "not a number: %s", bound.text)
		}
	}
	for _, key := range []string{"minItems", "maxItems"} {
		if bound := n.get(key); bound != nil && !corpusCount(bound) {
			c.add(corpusMember(place, key), "not a count: %s", bound.text)
		}
	}
}

// nesting counts the objects and arrays in one another, the deepest way, each
// definition once on a way.
func (c *strictChecker) nesting(n *node, way []*node) int {
	if slices.Contains(way, n) {
		return 0
	}
	way = append(slices.Clone(way), n)
	if ref := n.get("$ref"); ref != nil {
		if target := c.root.resolve(ref.text); target != nil {
			return c.nesting(target, way)
		}
		return 0
	}
	deepest := 0
	for _, branch := range n.get("anyOf").list() {
		deepest = max(deepest, c.nesting(branch, way))
	}
	below := 0
	if items := n.get("items"); items != nil {
		below = c.nesting(items, way)
	}
	if properties := n.get("properties"); properties != nil {
		for _, property := range properties.members {
			below = max(below, c.nesting(property, way))
		}
	}
	if names := corpusTypes(n); slices.Contains(names, "object") || slices.Contains(names, "array") {
		below++
	}
	return max(deepest, below)
}

// list returns the elements of an array, none of anything else.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}
