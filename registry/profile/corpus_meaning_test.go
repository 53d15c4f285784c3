package profile_test

import (
	"fmt"
	"slices"
)

// corpusEmpty tells whether a keyword says nothing.
func corpusEmpty(key string, v *node) bool {
	switch key {
	case "minLength", "minItems", "minProperties":
		return v.number() == "0"
	case "uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable":
		return v.is('t') && v.text == "false"
	case "description", "title", "$comment":
		return v.says("")
	case "enum":
		return false
	}
	return false
}

// corpusNext tells whether b is the whole number after, or before, a.
func corpusNext(a, step, b string) bool {
	var x, y int
	if _, err := fmt.Sscan(a, &x); err != nil {
		return false
	}
	if _, err := fmt.Sscan(b, &y); err != nil {
		return false
	}
	return step == "+" && y == x+1 || step == "-" && y == x-1
}

// corpusJoin returns one schema for several of which any may hold the keywords.
func corpusJoin(list []*node) *node {
	if len(list) == 1 {
		return list[0]
	}
	return corpusAllOf(list)
}

func corpusAllOf(list []*node) *node {
	return &node{kind: '{', names: []string{"allOf"}, members: map[string]*node{"allOf": {kind: '[', items: list}}, joined: true}
}

// corpusNothing tells whether no value fits a schema.
func corpusNothing(n *node) bool {
	not := n.get("not")
	return n.is('t') && n.text == "false" || not.is('{') && len(not.names) == 0
}

// corpusReachable returns a schema without the properties that no value has, in it and in
// its allOf, for one of these forbids them.
func corpusReachable(n *node) *node {
	var allowed []string
	closed := false
	parts := append([]*node{n}, n.get("allOf").list()...)
	if len(parts) == 1 {
		return n
	}
	for _, part := range parts {
		if more := part.get("additionalProperties"); !more.is('t') || more.text != "false" || part.get("patternProperties") != nil {
			continue
		}
		names := part.get("properties").keys()
		if closed {
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(allowed, name) })
		}
		allowed, closed = names, true
	}
	if !closed {
		return n
	}
	for _, part := range parts {
		if more := part.get("additionalProperties"); more.is('{') {
			n = n.without(part, "additionalProperties")
			return corpusReachable(n)
		}
		for _, name := range part.get("properties").keys() {
			if !slices.Contains(allowed, name) {
				return corpusReachable(n.without(part.get("properties"), name))
			}
		}
	}
	return n
}

// corpusApart tells whether no value fits two of the branches, by their types, or by a
// member that both require and that has other values in each.
func corpusApart(root *node, branches []*node) bool {
	for i, one := range branches {
		for _, two := range branches[:i] {
			if !corpusDisjoint(corpusFollow(root, one), corpusFollow(root, two)) {
				return false
			}
		}
	}
	return true
}

func corpusFollow(root, n *node) *node {
	if ref := n.get("$ref"); ref.is('"') {
		return root.resolve(ref.text)
	}
	return n
}

func corpusDisjoint(one, two *node) bool {
	a, b := corpusKinds(one), corpusKinds(two)
	if a != nil && b != nil && !slices.ContainsFunc(a, func(name string) bool {
		return slices.Contains(b, name) || name == "number" && slices.Contains(b, "integer") || name == "integer" && slices.Contains(b, "number")
	}) {
		return true
	}
	if v, w := corpusValues(one), corpusValues(two); v != nil && w != nil {
		return !slices.ContainsFunc(v, func(text string) bool { return slices.Contains(w, text) })
	}
	if !slices.Equal(a, []string{"object"}) || !slices.Equal(b, a) {
		return false
	}
	return slices.ContainsFunc(one.get("required").list(), func(name *node) bool {
		both := slices.ContainsFunc(two.get("required").list(), func(other *node) bool { return other.says(name.text) })
		p, q := one.get("properties").get(name.text), two.get("properties").get(name.text)
		return both && p != nil && q != nil && corpusDisjoint(p, q)
	})
}

// corpusKinds returns the types of a schema, or of what it holds in allOf.
func corpusKinds(n *node) []string {
	names := corpusTypes(n)
	for _, part := range n.get("allOf").list() {
		if names == nil {
			names = corpusKinds(part)
		}
	}
	return names
}

// corpusValues returns the only values of a schema; nil if it does not say.
func corpusValues(n *node) []string {
	if c := n.get("const"); c != nil {
		return []string{c.value()}
	}
	var list []string
	for _, item := range n.get("enum").list() {
		list = append(list, item.value())
	}
	return list
}
