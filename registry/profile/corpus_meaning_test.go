package profile_test

import (
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// corpusEmpty tells whether a keyword says nothing.
func corpusEmpty(key string, v *node) bool {
	switch key {
	case "minLength", "minItems", "minProperties":
		return numberOf(v) == "0"
	case "uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable":
		return v.Is('t') && v.Text == "false"
	case "description", "title", "$comment":
		return v.Says("")
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

// joined is the text of a schema that was made of several that are elsewhere.
const joined = "joined"

func corpusAllOf(list []*node) *node {
	return &node{Kind: '{', Names: []string{"allOf"}, Members: map[string]*node{"allOf": {Kind: '[', Items: list}}, Text: joined}
}

// corpusNothing tells whether no value fits a schema.
func corpusNothing(n *node) bool {
	not := n.Get("not")
	return n.Is('t') && n.Text == "false" || not.Is('{') && len(not.Names) == 0
}

// corpusReachable returns a schema without the properties that no value has, in it and in
// its allOf, for one of these forbids them.
func corpusReachable(n *node) *node {
	var allowed []string
	closed := false
	parts := append([]*node{n}, n.Get("allOf").List()...)
	if len(parts) == 1 {
		return n
	}
	for _, part := range parts {
		if more := part.Get("additionalProperties"); !more.Is('t') || more.Text != "false" || part.Get("patternProperties") != nil {
			continue
		}
		names := part.Get("properties").Keys()
		if closed {
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(allowed, name) })
		}
		allowed, closed = names, true
	}
	if !closed {
		return n
	}
	for _, part := range parts {
		if more := part.Get("additionalProperties"); more.Is('{') {
			n = withoutMember(n, part, "additionalProperties")
			return corpusReachable(n)
		}
		for _, name := range part.Get("properties").Keys() {
			if !slices.Contains(allowed, name) {
				return corpusReachable(withoutMember(n, part.Get("properties"), name))
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
	if ref := n.Get("$ref"); ref.Is('"') {
		return root.Resolve(ref.Text)
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
	return slices.ContainsFunc(one.Get("required").List(), func(name *node) bool {
		both := slices.ContainsFunc(two.Get("required").List(), func(other *node) bool { return other.Says(name.Text) })
		p, q := one.Get("properties").Get(name.Text), two.Get("properties").Get(name.Text)
		return both && p != nil && q != nil && corpusDisjoint(p, q)
	})
}

// corpusKinds returns the types of a schema, or of what it holds in allOf.
func corpusKinds(n *node) []string {
	names := providercheck.Types(n)
	for _, part := range n.Get("allOf").List() {
		if names == nil {
			names = corpusKinds(part)
		}
	}
	return names
}

// corpusValues returns the only values of a schema; nil if it does not say.
func corpusValues(n *node) []string {
	if c := n.Get("const"); c != nil {
		return []string{valueOf(c)}
	}
	var list []string
	for _, item := range n.Get("enum").List() {
		list = append(list, valueOf(item))
	}
	return list
}
