package providercheck

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
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
			EachSchema(Member(place, strconv.Itoa(i)), item, fn)
		}
	case "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains",
		"propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		if v.Is('[') { // the tuples of older drafts
			for i, item := range v.Items {
				EachSchema(Member(place, strconv.Itoa(i)), item, fn)
			}
			return
		}
		EachSchema(place, v, fn)
	}
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
