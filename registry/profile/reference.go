package profile

import (
	"net/url"
	"strconv"
	"strings"
)

// A document is a schema with what is needed to follow its references. The gate of
// the registry has let it through: every reference leads to a schema of the
// document, and none leads back to itself for the same value.
type document struct {
	root    *node
	alone   bool // beside $ref all else is ignored, as in the drafts 6 and 7
	early   bool // older than 2020-12
	sixth   bool // older than draft 7
	anchors map[anchor]*node
}

type anchor struct {
	resource *node
	name     string
}

func newDocument(root *node) *document {
	d := &document{root: root}
	if s := root.get("$schema"); s != nil {
		d.sixth = strings.Contains(s.text, "draft-06")
		d.alone = d.sixth || strings.Contains(s.text, "draft-07")
		d.early = d.alone || strings.Contains(s.text, "2019-09")
	} else if listsItems(root) {
		d.alone, d.early = true, true // what the gate takes it for
	}
	return d
}

// listsItems reports whether items is a list in a schema, as in older drafts.
func listsItems(schema *node) bool {
	if items := schema.get("items"); items != nil && items.kind == '[' {
		return true
	}
	found := false
	subschemas(schema, func(sub *node) { found = found || listsItems(sub) })
	return found
}

// resolve returns what a $ref, which was read, leads to; nil if it leads nowhere.
func (d *document) resolve(ref *node) *node {
	resource := d.resourceOf(ref.parent)
	fragment, err := url.PathUnescape(strings.TrimPrefix(ref.text, "#"))
	if err != nil {
		return nil
	}
	if fragment != "" && fragment[0] != '/' {
		return d.anchored(anchor{resource, fragment})
	}
	target := resource
	if fragment == "" {
		return target
	}
	for token := range strings.SplitSeq(fragment[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch {
		case target == nil:
			return nil
		case target.kind == '[':
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(target.elems) {
				return nil
			}
			target = target.elems[i]
		default:
			target = target.get(token)
		}
	}
	return target
}

// resourceOf returns the nearest schema around n, or n, that has an identifier of
// its own, else the root.
func (d *document) resourceOf(n *node) *node {
	for ; n != nil && n.parent != nil; n = n.parent {
		id := n.get("$id")
		if id == nil || id.kind != '"' || strings.HasPrefix(id.text, "#") || d.alone && n.get("$ref") != nil {
			continue
		}
		return n
	}
	return d.root
}

func (d *document) anchored(a anchor) *node {
	if d.anchors == nil {
		d.anchors = map[anchor]*node{}
		d.findAnchors(d.root)
	}
	return d.anchors[a]
}

func (d *document) findAnchors(schema *node) {
	if schema.kind != '{' {
		return
	}
	for _, keyword := range []string{"$id", "$anchor", "$dynamicAnchor"} {
		name := schema.get(keyword)
		if name == nil || name.kind != '"' || d.alone != (keyword == "$id") {
			continue
		}
		text := name.text
		if keyword == "$id" && !strings.HasPrefix(text, "#") {
			continue
		}
		d.anchors[anchor{d.resourceOf(schema), strings.TrimPrefix(text, "#")}] = schema
	}
	subschemas(schema, d.findAnchors)
}

// knows reports whether the dialect of the document knows a keyword, or no newer
// one does: what was not known must not come to life in another dialect.
func (d *document) knows(keyword string) bool {
	switch keyword {
	case "prefixItems":
		return !d.early
	case "dependentSchemas", "dependentRequired", "unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains":
		return !d.alone
	case "if", "then", "else":
		return !d.sixth
	}
	return true
}
