package schemagate

import (
	"encoding/json"
	"math/big"
	"net/url"
	"strings"
)

// rewrite turns the document into one that can be read without resolving
// anything: references are pointers, and what has no say in the verdict is gone.
func (g *graph) rewrite() (root any, err error) {
	document, ok := g.root.(map[string]any)
	if !ok {
		return g.root, nil
	}
	g.move(document)
	for _, r := range g.refs {
		r.object["$ref"] = "#" + g.pointer(r.target)
	}
	if err := g.overlook(); err != nil {
		return nil, err
	}
	for _, n := range g.nodes {
		if object, ok := n.schema.(map[string]any); ok {
			strip(object)
			if list, ok := object["enum"].([]any); ok && g.draft.refAlone {
				object["enum"] = once(list)
			}
		}
	}
	return document, nil
}

// overlook removes the patterns that RE2 cannot read, such as those that look
// ahead, which many libraries write for mail addresses: the rest of the schema is
// worth checking without them.
func (g *graph) overlook() error {
	if err := g.foreign(); err != nil {
		return err
	}
	for _, n := range g.nodes {
		if object, ok := n.schema.(map[string]any); ok && n.foreign != nil {
			delete(object, "pattern")
		}
	}
	return nil
}

// foreign returns the error of a pattern that cannot be overlooked. Where more can
// pass because a part does not, a schema without one of its parts would refuse what
// it should not, so there each of these patterns is an error.
func (g *graph) foreign() error {
	var foreign error
	inverts := false
	for _, n := range g.nodes {
		object, ok := n.schema.(map[string]any)
		if !ok {
			continue
		}
		if n.foreign != nil {
			foreign = n.foreign
		}
		for _, keyword := range []string{"not", "if", "oneOf", "maxContains"} {
			_, used := object[keyword]
			inverts = inverts || used
		}
	}
	if inverts {
		return foreign
	}
	return nil
}

// move puts what only references lead to where the dialect has a place for it.
func (g *graph) move(document map[string]any) {
	if len(g.moved) == 0 {
		return
	}
	defs, _ := document[g.draft.defs].(map[string]any)
	if defs == nil {
		defs = map[string]any{}
		document[g.draft.defs] = defs
	}
	prefix := "moved"
	for taken(defs, prefix) {
		prefix += "-"
	}
	for n, number := range g.moved {
		name := prefix + number
		g.moved[n] = name
		defs[name] = n.schema
	}
}

func taken(defs map[string]any, prefix string) bool {
	for name := range defs {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// pointer returns where a schema is in the document after the move, escaped for
// a URL.
func (g *graph) pointer(n *node) string {
	path := n.path
	if name, ok := g.moved[n]; ok {
		path = join(join("", g.draft.defs), name)
	}
	tokens := strings.Split(path, "/")
	for i, token := range tokens {
		tokens[i] = url.PathEscape(token)
	}
	return strings.Join(tokens, "/")
}

// strip removes what a schema says about itself, what is for people and not for
// models, and what is not asserted, and makes counts fit into an int.
func strip(object map[string]any) {
	for _, keyword := range []string{
		"$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment",
		"title", "examples", "deprecated", "readOnly", "writeOnly",
		"contentEncoding", "contentMediaType", "contentSchema", "format",
	} {
		delete(object, keyword)
	}
	if _, ok := object["description"].(string); !ok {
		delete(object, "description")
	}
	for _, keyword := range []string{
		"minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties",
	} {
		if number, ok := object[keyword].(json.Number); ok && beyondInt(number) {
			object[keyword] = json.Number("2147483647")
		}
	}
}

// once drops what is in a list again. The metaschemas of the older drafts forbid it
// in an enum, many generators write it, and it means nothing.
func once(list []any) []any {
	seen := make(map[any]bool, len(list))
	kept := list[:0:0]
	for _, value := range list {
		switch value.(type) {
		case nil, bool, string, json.Number:
			if seen[value] {
				continue
			}
			seen[value] = true
		}
		kept = append(kept, value)
	}
	return kept
}

func beyondInt(number json.Number) bool {
	n, ok := new(big.Rat).SetString(string(number))
	return ok && n.Cmp(big.NewRat(1<<31-1, 1)) > 0
}
