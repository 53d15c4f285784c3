package schemagate

import (
	"net/url"
	"strconv"
	"strings"
)

// resolve finds the target of a reference. The target is held against the same
// value as the schema that refers to it.
func (g *graph) resolve(r *reference) error {
	ref, _ := r.object["$ref"].(string)
	fragment, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return refuse(UnresolvedRef, r.from.path, "$ref %s is malformed", quote(ref))
	}
	switch {
	case g.identified:
		return refuse(UnresolvedRef, r.from.path, "$ref %s is in a schema of which a part has an $id of its own, which is not supported", quote(ref))
	case fragment != "" && fragment[0] != '/':
		return refuse(UnresolvedRef, r.from.path, "$ref %s names an anchor: write a JSON pointer, such as #/$defs/name", quote(ref))
	}
	if r.target, err = g.follow(fragment); err != nil {
		return err
	}
	if r.target == nil {
		return refuse(UnresolvedRef, r.from.path, "$ref %s leads to no schema", quote(ref))
	}
	r.from.same = append(r.from.same, r.target)
	return nil
}

// follow goes along a JSON pointer, and returns nil where no schema is. A schema that stands
// where the dialect knows none is added.
func (g *graph) follow(pointer string) (*node, error) {
	if n := g.byPath[pointer]; n != nil {
		return n, nil
	}
	value, path := g.root, ""
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch container := value.(type) {
		case map[string]any:
			if _, ok := container[token]; !ok {
				return nil, nil
			}
			value = container[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(container) || strconv.Itoa(i) != token {
				return nil, nil
			}
			value = container[i]
		default:
			return nil, nil
		}
		path = join(path, token)
	}
	if n := g.byPath[path]; n != nil {
		return n, nil // the pointer was only written in another way
	}
	if !isSchema(value) {
		return nil, nil
	}
	n, err := g.add(path, value)
	if err != nil {
		return nil, err
	}
	g.moved[n] = strconv.Itoa(len(g.moved))
	return n, nil
}

type visit int

const (
	unseen visit = iota
	open         // its references are being followed
	closed
)

// measure follows all that is held against one value, from every schema, and
// refuses what goes in circles or grows too much.
func (g *graph) measure() error {
	for _, n := range g.nodes {
		if err := g.measureOne(n); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) measureOne(n *node) error {
	switch n.visited {
	case closed:
		return nil
	case open:
		return refuse(SchemaCycle, n.path, "the schema refers to itself without end")
	}
	n.visited = open
	n.expanded = 1
	for _, sub := range n.same {
		if err := g.measureOne(sub); err != nil {
			return err
		}
		n.height = max(n.height, sub.height)
		n.expanded += sub.expanded
		if n.expanded > MaxExpansion {
			return refuse(TooComplex, n.path, "one value would be held against more than %d schemas", MaxExpansion)
		}
	}
	if n.height++; n.height > MaxChain {
		return refuse(TooDeep, n.path, "more than %d schemas refer to each other in a row", MaxChain)
	}
	n.visited = closed
	return nil
}
