package schemagate

import (
	"errors"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// A graph holds the schemas of a document, and which of them a value and its
// parts are held against when it is held against one.
type graph struct {
	root     any
	draft    draft
	patterns *patterns
	nodes    []*node
	byPath   map[string]*node
	refs     []*reference
	moved    map[*node]string // what only references lead to, with its new name
	paths    int              // length of all paths
	// identified says that a part has an identifier, to which references in it are relative.
	identified bool
}

// A node is one schema of the document.
type node struct {
	path   string
	schema any // an object or a boolean

	same     []*node          // held against the same value
	members  map[string]*node // against a member, by its name
	matching []matching       // against members whose name matches
	rest     []*node          // against the other members
	names    *node            // against the names of members
	prefix   []*node          // against elements, by their place
	elements []*node          // against elements

	fixed   int   // steps that each check costs
	program int   // instructions of its pattern
	foreign error // the pattern is none of RE2
	unique  bool  // elements are compared with each other

	visited  visit
	height   int // schemas in a row for the same value
	expanded int // schemas for the same value
}

type matching struct {
	pattern *pattern
	node    *node
}

// A reference is a $ref on its way to its target.
type reference struct {
	from   *node
	object map[string]any
	target *node
}

// newGraph finds all schemas of a document, and what they refer to.
func newGraph(root any, d draft) (*graph, error) {
	g := &graph{
		root:     root,
		draft:    d,
		patterns: newPatterns(),
		byPath:   map[string]*node{},
		moved:    map[*node]string{},
	}
	if _, err := g.add("", root); err != nil {
		return nil, err
	}
	// A target may be a schema that nothing else leads to, with references of
	// its own, so the list may grow.
	for i := 0; i < len(g.refs); i++ {
		if err := g.resolve(g.refs[i]); err != nil {
			return nil, err
		}
	}
	return g, g.measure()
}

// add adds a schema and those within it.
func (g *graph) add(path string, schema any) (*node, error) {
	if n := g.byPath[path]; n != nil {
		return n, nil
	}
	n := &node{path: path, schema: schema}
	object, isObject := schema.(map[string]any)
	if _, isBool := schema.(bool); !isObject && !isBool {
		return nil, refuse(Invalid, path, "a schema must be an object or a boolean")
	}
	if g.paths += len(path); g.paths > maxPaths {
		return nil, refuse(TooComplex, path, "the paths of its parts are too long")
	}
	g.nodes = append(g.nodes, n)
	g.byPath[path] = n
	if !isObject {
		return n, nil
	}
	if err := g.identify(n, object); err != nil {
		return nil, err
	}
	for _, keyword := range []string{"$defs", "definitions"} {
		if _, err := g.addMembers(n, object, keyword); err != nil {
			return nil, err
		}
	}
	if err := g.addRef(n, object); err != nil {
		return nil, err
	}
	if _, refers := object["$ref"]; refers && g.draft.refAlone {
		return n, nil
	}
	if err := g.addSame(n, object); err != nil {
		return nil, err
	}
	if err := g.addBelow(n, object); err != nil {
		return nil, err
	}
	return n, g.weigh(n, object)
}

// identify refuses parts of another dialect, and notes a part with an identifier of its own:
// references in it would not be what they seem.
func (g *graph) identify(n *node, object map[string]any) error {
	if n.path == "" {
		return nil
	}
	if dialect, ok := object["$schema"]; ok {
		if other, err := draftOf(dialect, newest); err != nil || other.url != g.draft.url {
			return refuse(Dialect, n.path, "a part of the schema is of another dialect")
		}
	}
	if id, ok := object["$id"].(string); ok && !strings.HasPrefix(id, "#") {
		g.identified = true
	}
	return nil
}

func (g *graph) addRef(n *node, object map[string]any) error {
	if !g.draft.refAlone {
		for _, keyword := range []string{"$dynamicRef", "$recursiveRef"} {
			if _, ok := object[keyword]; ok {
				return refuse(DynamicRef, n.path, "%s is not supported", keyword)
			}
		}
	}
	value, ok := object["$ref"]
	if !ok {
		return nil
	}
	ref, ok := value.(string)
	switch {
	case !ok:
		return refuse(Invalid, n.path, "$ref is not a string")
	case ref != "" && ref[0] != '#':
		return refuse(RemoteRef, n.path, "$ref %s leads out of the schema", quote(ref))
	}
	g.refs = append(g.refs, &reference{from: n, object: object})
	return nil
}

// addSame adds the schemas that are held against the same value.
func (g *graph) addSame(n *node, object map[string]any) error {
	for _, keyword := range []string{"not", "if", "then", "else"} {
		sub, err := g.addOne(n, object, keyword)
		if err != nil {
			return err
		}
		n.same = append(n.same, sub...)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		subs, err := g.addElements(n, object, keyword)
		if err != nil {
			return err
		}
		n.same = append(n.same, subs...)
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		subs, err := g.addMembers(n, object, keyword)
		if err != nil {
			return err
		}
		for _, sub := range subs {
			n.same = append(n.same, sub)
		}
	}
	return nil
}

// addBelow adds the schemas that are held against parts of the value.
func (g *graph) addBelow(n *node, object map[string]any) (err error) {
	if n.members, err = g.addMembers(n, object, "properties"); err != nil {
		return err
	}
	byPattern, err := g.addMembers(n, object, "patternProperties")
	if err != nil {
		return err
	}
	for _, text := range sorted(byPattern) {
		re, err := g.patterns.parse(text)
		if err != nil {
			return refuse(Pattern, join(n.path, "patternProperties"), "%s: %s", quote(text), shorten(err.Error()))
		}
		n.matching = append(n.matching, matching{re, byPattern[text]})
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		sub, err := g.addOne(n, object, keyword)
		if err != nil {
			return err
		}
		n.rest = append(n.rest, sub...)
	}
	names, err := g.addOne(n, object, "propertyNames")
	if err != nil {
		return err
	}
	if names != nil {
		n.names = names[0]
	}
	for _, keyword := range []string{"items", "additionalItems", "contains", "unevaluatedItems"} {
		sub, err := g.addOne(n, object, keyword)
		if err != nil {
			return err
		}
		n.elements = append(n.elements, sub...)
	}
	for _, keyword := range []string{"items", "prefixItems"} {
		subs, err := g.addElements(n, object, keyword)
		if err != nil {
			return err
		}
		n.prefix = append(n.prefix, subs...)
	}
	return nil
}

// addOne adds the schema under a keyword, if there is one.
func (g *graph) addOne(n *node, object map[string]any, keyword string) ([]*node, error) {
	value, ok := object[keyword]
	if !ok || !isSchema(value) {
		return nil, nil // the validator says what is wrong there
	}
	sub, err := g.add(join(n.path, keyword), value)
	return []*node{sub}, err
}

func (g *graph) addElements(n *node, object map[string]any, keyword string) (subs []*node, err error) {
	list, _ := object[keyword].([]any)
	if len(list) == 0 {
		return nil, nil
	}
	path := join(n.path, keyword)
	for i, value := range list {
		if !isSchema(value) {
			continue
		}
		sub, err := g.add(join(path, strconv.Itoa(i)), value)
		if err != nil {
			return nil, err
		}
		subs = append(subs, sub)
	}
	return subs, nil
}

func (g *graph) addMembers(n *node, object map[string]any, keyword string) (map[string]*node, error) {
	members, _ := object[keyword].(map[string]any)
	if members == nil {
		return nil, nil
	}
	path := join(n.path, keyword)
	subs := make(map[string]*node, len(members))
	for _, name := range sorted(members) { // the same verdict each time
		value := members[name]
		if !isSchema(value) {
			continue // such as the lists of dependencies
		}
		sub, err := g.add(join(path, name), value)
		if err != nil {
			return nil, err
		}
		subs[name] = sub
	}
	return subs, nil
}

// sorted returns the names of members in order.
func sorted[V any](members map[string]V) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func isSchema(value any) bool {
	switch value.(type) {
	case map[string]any, bool:
		return true
	}
	return false
}

// weigh finds out what the keywords cost that hold no schemas.
func (g *graph) weigh(n *node, object map[string]any) error {
	if text, ok := object["pattern"].(string); ok {
		re, err := g.patterns.parse(text)
		var foreign *syntax.Error
		switch {
		case errors.As(err, &foreign):
			n.foreign = refuse(Pattern, n.path, "%s: %s", quote(text), shorten(err.Error()))
		case err != nil:
			return refuse(Pattern, n.path, "%s: %s", quote(text), shorten(err.Error()))
		default:
			n.program = re.size
		}
	}
	n.unique, _ = object["uniqueItems"].(bool)
	for _, keyword := range []string{
		"enum", "const", "required", "dependentRequired", "dependencies",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	} {
		if value, ok := object[keyword]; ok {
			n.fixed += weight(value)
		}
	}
	return nil
}

// join appends a token to a JSON pointer.
func join(path, token string) string {
	if strings.ContainsAny(token, "~/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
	}
	return path + "/" + token
}
