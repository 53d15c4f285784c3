package providercheck

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
	root       *Node
	properties int
	values     int
	text       int
}

// checkStrict adds what is refused of a strict schema.
func (v *violations) checkStrict(schema *Node) {
	c := &strictChecker{violations: v, root: schema}
	if !schema.Get("type").Says("object") {
		c.add("", "the type of the whole is not object")
	}
	for _, key := range []string{"anyOf", "$ref", "enum", "const"} {
		if schema.Get(key) != nil {
			c.add(Member("", key), "not taken at the top level")
		}
	}
	c.schema("", schema)
	for _, key := range []string{"$defs", "definitions"} {
		defs := schema.Get(key)
		if defs == nil {
			continue
		}
		if !defs.Is('{') {
			c.add(Member("", key), "not an object")
			continue
		}
		for _, name := range defs.Names {
			c.text += len([]rune(name))
			c.schema(Member(Member("", key), name), defs.Get(name))
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
func (c *strictChecker) schema(place string, n *Node) {
	if !n.Is('{') {
		c.add(place, "not an object")
		return
	}
	if ref := n.Get("$ref"); ref != nil {
		if len(n.Names) > 1 {
			c.add(place, "$ref with others: %v", n.Names)
		}
		ok := ref.Is('"') && (ref.Text == "#" || strings.HasPrefix(ref.Text, "#/$defs/") || strings.HasPrefix(ref.Text, "#/definitions/"))
		if !ok || c.root.Resolve(ref.Text) == nil {
			c.add(place, "$ref %q leads nowhere", ref.Text)
		}
		return
	}
	known := []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "title",
		"pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
	if place == "" {
		known = append(known, "$defs", "definitions")
	}
	c.only(place, n, known...)
	if n.Get("type") == nil && n.Get("anyOf") == nil {
		c.add(place, "neither type nor anyOf")
	}
	c.kinds(place, n)
	c.object(place, n)
	c.choices(place, n)
	c.bounds(place, n)
	c.checkText(Member(place, "description"), n.Get("description"))
	c.checkText(Member(place, "title"), n.Get("title"))
	if branches := n.Get("anyOf"); branches != nil {
		if len(branches.Items) == 0 {
			c.add(place, "anyOf of nothing")
		}
		for i, branch := range branches.Items {
			c.schema(Element(Member(place, "anyOf"), i), branch)
		}
	}
	if items := n.Get("items"); items != nil {
		c.schema(Member(place, "items"), items)
	}
}

// kinds checks the type.
func (c *strictChecker) kinds(place string, n *Node) {
	if slices.Contains(c.checkTypes(place, n), "array") && n.Get("items") == nil {
		c.add(place, "array schema missing items")
	}
}

// object checks that nothing is left open.
func (c *strictChecker) object(place string, n *Node) {
	properties, required, more := n.Get("properties"), n.Get("required"), n.Get("additionalProperties")
	if !slices.Contains(Types(n), "object") {
		if properties != nil || required != nil || more != nil {
			c.add(place, "members of what is no object")
		}
		return
	}
	if !more.Is('t') || more.Text != "false" {
		c.add(place, "additionalProperties is not false")
	}
	if !properties.Is('{') {
		c.add(place, "object schema missing properties")
		return
	}
	if required == nil {
		if len(properties.Names) > 0 {
			c.add(place, "required is missing")
		}
	} else {
		c.checkNames(Member(place, "required"), required, properties, true)
	}
	c.properties += len(properties.Names)
	needed := map[string]bool{}
	for _, r := range required.List() {
		needed[r.Text] = needed[r.Text] || r.Is('"')
	}
	for _, name := range properties.Names {
		c.text += len([]rune(name))
		if required != nil && !needed[name] {
			c.add(place, "%q is not required", name)
		}
		c.schema(Member(Member(place, "properties"), name), properties.Get(name))
	}
}

// choices checks enum and const.
func (c *strictChecker) choices(place string, n *Node) {
	if constant := n.Get("const"); constant != nil {
		if !Fits(constant, Types(n)) {
			c.add(place, "const is not of type %v", Types(n))
		}
		c.text += len([]rune(constant.Text))
	}
	list := n.Get("enum")
	if list == nil {
		return
	}
	if n.Get("type") == nil {
		c.add(place, "enum without type")
	}
	c.checkEnum(place, list, Types(n))
	c.values += len(list.Items)
	length := 0
	for _, item := range list.Items {
		if item.Is('"') {
			length += len([]rune(item.Text))
		}
	}
	c.text += length
	if len(list.Items) > strictLongEnum && length > strictEnumText {
		c.add(place, "an enum of %d values and %d characters", len(list.Items), length)
	}
}

// bounds checks formats, numbers and counts.
func (c *strictChecker) bounds(place string, n *Node) {
	if f := n.Get("format"); f != nil && !slices.Contains(
		[]string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}, f.Text) {
		c.add(place, "%q is not a valid format", f.Text)
	}
	c.checkBounds(place, n)
}

// nesting counts the objects and arrays in one another, the deepest way, each
// definition once on a way.
func (c *strictChecker) nesting(n *Node, way []*Node) int {
	if slices.Contains(way, n) {
		return 0
	}
	way = append(slices.Clone(way), n)
	if ref := n.Get("$ref"); ref != nil {
		if target := c.root.Resolve(ref.Text); target != nil {
			return c.nesting(target, way)
		}
		return 0
	}
	deepest := 0
	for _, branch := range n.Get("anyOf").List() {
		deepest = max(deepest, c.nesting(branch, way))
	}
	below := 0
	if items := n.Get("items"); items != nil {
		below = c.nesting(items, way)
	}
	if properties := n.Get("properties"); properties != nil {
		for _, property := range properties.Members {
			below = max(below, c.nesting(property, way))
		}
	}
	if names := Types(n); slices.Contains(names, "object") || slices.Contains(names, "array") {
		below++
	}
	return max(deepest, below)
}
