package openapi

import (
	"net/url"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A loss is why something could not be taken over.
type loss struct {
	at     *node
	reason string
}

func lost(at *node, reason string) *loss { return &loss{at, reason} }

// find follows one reference. Only what is in the document is found: nothing is
// ever read from a file or fetched.
func (d *document) find(from *node, ref string) (*node, *loss) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, lost(from, "the reference "+plain.Quote(ref)+" leaves the document; such references are never followed: "+
			"bundle the documents into one first")
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, lost(from, "the reference "+plain.Quote(ref)+" is not a URI")
	}
	if decoded != "" && decoded[0] != '/' {
		return nil, lost(from, "the reference "+plain.Quote(ref)+" names an anchor; only JSON pointers are followed")
	}
	at := d.root
	if decoded != "" {
		for key := range strings.SplitSeq(decoded[1:], "/") {
			key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
			if at = at.child(key); at == nil {
				return nil, lost(from, "the reference "+plain.Quote(ref)+" leads to nothing")
			}
		}
	}
	return at, nil
}

// resolve follows references until something else is reached.
func (d *document) resolve(n *node) (*node, *loss) {
	for at, hops := n, 0; ; hops++ {
		ref := at.get("$ref")
		if ref.kind() != '"' {
			return at, nil
		}
		if hops == maxHops {
			return nil, lost(n, "the reference "+plain.Quote(n.get("$ref").text())+" leads to itself, or far too far")
		}
		next, l := d.find(at, ref.text())
		if l != nil {
			return nil, l
		}
		at = next
	}
}
