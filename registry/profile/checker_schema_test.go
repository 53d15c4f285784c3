package profile_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// eachSchema calls fn for a schema and all below it, with their places. What fn
// returns says whether to go on below.
func eachSchema(place string, n *node, fn func(place string, n *node) bool) {
	if !fn(place, n) || !n.is('{') {
		return
	}
	for _, key := range n.names {
		eachBelow(corpusMember(place, key), key, n.get(key), fn)
	}
}

func eachBelow(place, key string, v *node, fn func(string, *node) bool) {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		if v.is('{') {
			for _, name := range v.names {
				eachSchema(corpusMember(place, name), v.get(name), fn)
			}
		}
	case "anyOf", "oneOf", "allOf", "prefixItems":
		for i, item := range v.items {
			eachSchema(corpusElement(place, i), item, fn)
		}
	case "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains",
		"propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		if v.is('[') { // the tuples of older drafts
			for i, item := range v.items {
				eachSchema(corpusElement(place, i), item, fn)
			}
			return
		}
		eachSchema(place, v, fn)
	}
}

// An anything is a regular expression that nobody runs.
type anything string

func (a anything) MatchString(string) bool { return true }
func (a anything) String() string          { return string(a) }

// checkDialect adds what is not a schema of JSON Schema 2020-12, and references
// that lead nowhere.
func (v *violations) checkDialect(schema *node) {
	if err := compileDialect(schema.write()); err != nil {
		v.add("", "%v", err)
	}
	eachSchema("", schema, func(place string, n *node) bool {
		if d := n.get("$schema"); d != nil && !d.says("https://json-schema.org/draft/2020-12/schema") {
			v.add(place, "another dialect: %s", d.text)
		}
		if items := n.get("items"); items.is('[') {
			v.add(place, "items is a list")
		}
		return true
	})
}

// dialects has a function for each text that was compiled: several providers get the
// same schema, and some get it in two declarations.
var dialects sync.Map

// compileDialect returns why a text is no schema of 2020-12.
func compileDialect(text string) error {
	once, _ := dialects.LoadOrStore(text, sync.OnceValue(func() error {
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
			return fmt.Errorf("not a schema of 2020-12: %v", err)
		}
		return nil
	}))
	return once.(func() error)()
}

// corpusTypes returns the names in a schema's type; nil if it has none.
func corpusTypes(n *node) []string {
	t := n.get("type")
	if t.is('"') {
		return []string{t.text}
	}
	var names []string
	if t.is('[') {
		for _, item := range t.items {
			names = append(names, item.text)
		}
	}
	return names
}

// corpusFits tells whether a value is of one of the types.
func corpusFits(value *node, names []string) bool {
	for _, name := range names {
		switch name {
		case "object":
			if value.is('{') {
				return true
			}
		case "array":
			if value.is('[') {
				return true
			}
		case "string":
			if value.is('"') {
				return true
			}
		case "boolean":
			if value.is('t') {
				return true
			}
		case "null":
			if value.is('n') {
				return true
			}
		case "number":
			if value.is('0') {
				return true
			}
		case "integer":
			if value.is('0') && corpusWhole(value.text) {
				return true
			}
		}
	}
	return false
}

// corpusWhole tells whether a number has no fraction. Of one with a huge exponent it looks
// at the exponent only.
func corpusWhole(text string) bool {
	if _, exponent, found := strings.Cut(strings.ToLower(text), "e"); found {
		if e, err := strconv.Atoi(exponent); err != nil || e > 9_999 || e < -9_999 {
			return !strings.HasPrefix(exponent, "-")
		}
	}
	r, ok := new(big.Rat).SetString(text)
	return ok && r.IsInt()
}

// corpusFinite tells whether a number is one in floating point.
func corpusFinite(n *node) bool {
	f, err := strconv.ParseFloat(n.text, 64)
	return n.is('0') && err == nil && !math.IsInf(f, 0)
}

// corpusCount tells whether a value is a number of things, in 64 bits.
func corpusCount(n *node) bool {
	if !n.is('0') {
		return false
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	return err == nil && i >= 0
}

// checkNames adds what is wrong with a list of names of properties. Known: each has
// to be one of the properties.
func (v *violations) checkNames(place string, list, properties *node, known bool) {
	if !list.is('[') {
		v.add(place, "not a list of names")
		return
	}
	seen := map[string]bool{}
	for _, item := range list.items {
		switch {
		case !item.is('"'):
			v.add(place, "not a name: %s", item.text)
		case seen[item.text]:
			v.add(place, "%q twice", item.text)
		case known && properties.get(item.text) == nil:
			v.add(place, "%q is no property", item.text)
		}
		seen[item.text] = true
	}
}

// checkEnum adds what is wrong with an enum: none, some twice, not of the type.
func (v *violations) checkEnum(place string, list *node, names []string) {
	if !list.is('[') || len(list.items) == 0 {
		v.add(place, "enum of nothing")
		return
	}
	seen := map[string]bool{}
	for _, item := range list.items {
		text := item.write()
		if seen[text] {
			v.add(place, "%s twice in enum", text)
		}
		seen[text] = true
		if len(names) > 0 && !corpusFits(item, names) {
			v.add(place, "%s in enum is not of type %v", text, names)
		}
	}
}

// checkText adds what is wrong with a text for the model.
func (v *violations) checkText(place string, n *node) {
	switch {
	case n == nil:
	case !n.is('"'):
		v.add(place, "not a text")
	case strings.ContainsRune(n.text, 0):
		v.add(place, "holds a NUL")
	}
}

// readDeclaration reads a declaration, an object.
func (v *violations) readDeclaration(declaration []byte) *node {
	n, err := readNode(declaration)
	if err != nil {
		v.add("", "not JSON: %v", err)
		return nil
	}
	if !n.is('{') {
		v.add("", "not an object")
		return nil
	}
	return n
}
