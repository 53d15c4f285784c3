package providercheck

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// EachSchema calls fn for a schema and all below it, with their places. fn returns
// whether to go on below.
func EachSchema(place string, n *Node, fn func(place string, n *Node) bool) {
	if !fn(place, n) || !n.Is('{') {
		return
	}
	for _, key := range n.Names {
		eachBelow(Member(place, key), key, n.Get(key), fn)
	}
}

func eachBelow(place, key string, v *Node, fn func(string, *Node) bool) {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		if v.Is('{') {
			for _, name := range v.Names {
				EachSchema(Member(place, name), v.Get(name), fn)
			}
		}
	case "anyOf", "oneOf", "allOf", "prefixItems":
		for i, item := range v.Items {
			EachSchema(Element(place, i), item, fn)
		}
	case "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains",
		"propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		if v.Is('[') { // the tuples of older drafts
			for i, item := range v.Items {
				EachSchema(Element(place, i), item, fn)
			}
			return
		}
		EachSchema(place, v, fn)
	}
}

// An anything is a regular expression that is never run.
type anything string

func (a anything) MatchString(string) bool { return true }
func (a anything) String() string          { return string(a) }

// checkDialect adds what is not a schema of JSON Schema 2020-12, and references
// that lead nowhere.
func (v *violations) checkDialect(schema *Node) {
	if err := compileDialect(schema.Write()); err != nil {
		v.add("", "%v", err)
	}
	EachSchema("", schema, func(place string, n *Node) bool {
		if d := n.Get("$schema"); d != nil && !d.Says("https://json-schema.org/draft/2020-12/schema") {
			v.add(place, "another dialect: %s", d.Text)
		}
		if items := n.Get("items"); items.Is('[') {
			v.add(place, "items is a list")
		}
		return true
	})
}

// compileDialect returns why a text is no schema of 2020-12.
func compileDialect(text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) { return anything(s), nil })
	if err := c.AddResource("memory:tool", doc); err != nil {
		return err
	}
	if _, err := c.Compile("memory:tool"); err != nil {
		return fmt.Errorf("not a schema of 2020-12: %w", err)
	}
	return nil
}

// Types returns the names in a schema's type; nil if it has none.
func Types(n *Node) []string {
	t := n.Get("type")
	if t.Is('"') {
		return []string{t.Text}
	}
	var names []string
	if t.Is('[') {
		for _, item := range t.Items {
			names = append(names, item.Text)
		}
	}
	return names
}

// checkTypes adds what is wrong with a type that has to be one, or one and null, and returns its names.
func (v *violations) checkTypes(place string, n *Node) []string {
	t, names := n.Get("type"), Types(n)
	for _, name := range names {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, name) {
			v.add(place, "type %q", name)
		}
	}
	if t != nil && !t.Is('"') && (len(names) != 2 || names[0] == names[1] || !slices.Contains(names, "null")) {
		v.add(place, "type %v is not one type or null", names)
	}
	return names
}

// checkBounds adds what is wrong with numbers and counts.
func (v *violations) checkBounds(place string, n *Node) {
	for _, key := range []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if bound := n.Get(key); bound != nil && !finite(bound) {
			v.add(Member(place, key), "not a number: %s", bound.Text)
		}
	}
	for _, key := range []string{"minItems", "maxItems"} {
		if bound := n.Get(key); bound != nil && !isCount(bound) {
			v.add(Member(place, key), "not a count: %s", bound.Text)
		}
	}
}

// Fits tells whether a value is of one of the types.
func Fits(value *Node, names []string) bool {
	kinds := map[string]byte{"object": '{', "array": '[', "string": '"', "boolean": 't', "null": 'n', "number": '0', "integer": '0'}
	return slices.ContainsFunc(names, func(name string) bool {
		return value.Is(kinds[name]) && (name != "integer" || whole(value.Text))
	})
}

// whole tells whether a number has no fraction. Of one with a huge exponent it looks
// at the exponent only.
func whole(text string) bool {
	if _, exponent, found := strings.Cut(strings.ToLower(text), "e"); found {
		if e, err := strconv.Atoi(exponent); err != nil || e > 9_999 || e < -9_999 {
			return !strings.HasPrefix(exponent, "-")
		}
	}
	r, ok := new(big.Rat).SetString(text)
	return ok && r.IsInt()
}

// finite tells whether a number is one in floating point.
func finite(n *Node) bool {
	f, err := strconv.ParseFloat(n.Text, 64)
	return n.Is('0') && err == nil && !math.IsInf(f, 0)
}

// isCount tells whether a value is a number of things, in 64 bits.
func isCount(n *Node) bool {
	if !n.Is('0') {
		return false
	}
	i, err := strconv.ParseInt(n.Text, 10, 64)
	return err == nil && i >= 0
}

// checkNames adds what is wrong with a list of names of properties. Known: each has
// to be one of the properties.
func (v *violations) checkNames(place string, list, properties *Node, known bool) {
	if !list.Is('[') {
		v.add(place, "not a list of names")
		return
	}
	seen := map[string]bool{}
	for _, item := range list.Items {
		switch {
		case !item.Is('"'):
			v.add(place, "not a name: %s", item.Text)
		case seen[item.Text]:
			v.add(place, "%q twice", item.Text)
		case known && properties.Get(item.Text) == nil:
			v.add(place, "%q is no property", item.Text)
		}
		seen[item.Text] = true
	}
}

// checkEnum adds what is wrong with an enum: none, some twice, not of the type.
func (v *violations) checkEnum(place string, list *Node, names []string) {
	if !list.Is('[') || len(list.Items) == 0 {
		v.add(place, "enum of nothing")
		return
	}
	seen := map[string]bool{}
	for _, item := range list.Items {
		text := item.Write()
		if seen[text] {
			v.add(place, "%s twice in enum", text)
		}
		seen[text] = true
		if len(names) > 0 && !Fits(item, names) {
			v.add(place, "%s in enum is not of type %v", text, names)
		}
	}
}

// checkText adds what is wrong with a text for the model.
func (v *violations) checkText(place string, n *Node) {
	switch {
	case n == nil:
	case !n.Is('"'):
		v.add(place, "not a text")
	case strings.ContainsRune(n.Text, 0):
		v.add(place, "holds a NUL")
	}
}

// readDeclaration reads a declaration, an object.
func (v *violations) readDeclaration(declaration []byte) *Node {
	n, err := Read(declaration)
	if err != nil {
		v.add("", "not JSON: %v", err)
		return nil
	}
	if !n.Is('{') {
		v.add("", "not an object")
		return nil
	}
	return n
}
