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
	root  *node
	alone bool // beside $ref all else is ignored, as in the drafts 6 and 7
	early bool // older than 2020-12
	sixth bool // older than draft 7
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
	fragment, err := url.PathUnescape(strings.TrimPrefix(ref.text, "#"))
	target := d.root
	switch {
	case err != nil:
		return nil
	case fragment == "":
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
