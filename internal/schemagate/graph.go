package schemagate

import (
	"errors"
	"maps"
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

// add adds a schema and those within it. It refuses what the metaschema of the dialect does: the
// metaschemas themselves would take as long as all else.
func (g *graph) add(path string, schema any) (*node, error) {
	if n := g.byPath[path]; n != nil {
		return n, nil
	}
	n := &node{path: path, schema: schema}
	if !isSchema(schema) {
		return nil, refuse(Invalid, path, "a schema must be an object or a boolean")
	}
	if g.paths += len(path); g.paths > maxPaths {
		return nil, refuse(TooComplex, path, "the paths of its parts are too long")
	}
	g.nodes = append(g.nodes, n)
	g.byPath[path] = n
	object, isObject := schema.(map[string]any)
	if !isObject {
		return n, nil
	}
	if err := g.identify(n, object); err != nil {
		return nil, err
	}
	if err := g.addRef(n, object); err != nil {
		return nil, err
	}
	_, alone := object["$ref"]
	alone = alone && g.draft.refAlone
	for _, keyword := range sorted(object) { // the same verdict each time
		if alone && keyword != "$defs" && keyword != "definitions" {
			continue
		}
		if err := g.keyword(n, keyword, object[keyword]); err != nil {
			return nil, err
		}
	}
	if alone {
		return n, nil
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
		if other, err := draftOf(dialect); err != nil || other.url != g.draft.url {
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

// keyword adds the schemas that a keyword holds, also one that the dialect does not know. It refuses a value
// that the dialect does not allow.
func (g *graph) keyword(n *node, keyword string, value any) error {
	f, known := g.draft.formOf(keyword)
	if !f.holdsSchemas() {
		if known && !f.fits(value) {
			return malformed(join(n.path, keyword))
		}
		return nil
	}
	path := join(n.path, keyword)
	list, isList := value.([]any)
	members, isObject := value.(map[string]any)
	switch {
	case f == someSchemas, f == schemaOrSchemas && isList:
		if len(list) == 0 && known {
			return malformed(path)
		}
		for i, element := range list {
			if err := g.hold(n, keyword, "", join(path, strconv.Itoa(i)), element, known); err != nil {
				return err
			}
		}
	case f == oneSchema, f == schemaOrSchemas:
		return g.hold(n, keyword, "", path, value, known)
	case !isObject && known:
		return malformed(path)
	default:
		for _, name := range sorted(members) {
			member := members[name]
			if _, names := member.([]any); names && f == schemasOrNamesByName {
				if !someNames.fits(member) {
					return malformed(join(path, name))
				}
			} else if err := g.hold(n, keyword, name, join(path, name), member, known); err != nil {
				return err
			}
		}
	}
	return nil
}

func malformed(path string) error {
	return refuse(Invalid, path, "the value is not what the dialect asks for")
}

// hold adds a schema, and notes what it is held against. What is none is no error in a keyword that the
// dialect does not know.
func (g *graph) hold(n *node, keyword, name, path string, schema any, known bool) error {
	if !isSchema(schema) {
		if known {
			return malformed(path)
		}
		return nil
	}
	sub, err := g.add(path, schema)
	if err != nil {
		return err
	}
	switch keyword {
	case "$defs", "definitions":
	case "properties":
		if n.members == nil {
			n.members = map[string]*node{}
		}
		n.members[name] = sub
	case "patternProperties":
		re, err := g.patterns.parse(name)
		if err != nil {
			return refuse(Pattern, join(n.path, keyword), "%s: %s", quote(name), shorten(err.Error()))
		}
		n.matching = append(n.matching, matching{re, sub})
	case "additionalProperties", "unevaluatedProperties":
		n.rest = append(n.rest, sub)
	case "propertyNames":
		n.names = sub
	case "items", "additionalItems", "contains", "unevaluatedItems":
		if path != n.path+"/"+keyword { // one of a list
			n.prefix = append(n.prefix, sub)
		} else {
			n.elements = append(n.elements, sub)
		}
	case "prefixItems":
		n.prefix = append(n.prefix, sub)
	default:
		n.same = append(n.same, sub)
	}
	return nil
}

// sorted returns the names of members in order.
func sorted[V any](members map[string]V) []string {
	names := slices.AppendSeq(make([]string, 0, len(members)), maps.Keys(members))
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
