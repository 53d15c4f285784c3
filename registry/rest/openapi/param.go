package openapi

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// placed names a parameter: in one place there is one of each name.
type placed struct {
	in   rest.Place
	name string
}

// params takes over the parameters of the path item and of the operation, which
// replace the former.
func (b *builder) params() *loss {
	var order []placed
	found := map[placed]*node{}
	inPath := map[string]bool{}
	for _, name := range placeholder.FindAllStringSubmatch(b.op.Path, -1) {
		inPath[name[1]] = true
	}
	for _, list := range []*node{b.op.item.get("parameters"), b.op.at.get("parameters")} {
		for i, at := range list.each() {
			if i == maxParams {
				return lost(at, fmt.Sprintf("there are more than %d parameters", maxParams))
			}
			if l := b.look(at, sizeOfParam); l != nil {
				return l
			}
			p, l := b.resolve(at)
			if l != nil {
				// Whether it is required cannot be known.
				return l
			}
			key := placed{rest.Place(p.get("in").text()), p.get("name").text()}
			if key.in == rest.InHeader {
				key.name = strings.ToLower(key.name)
			}
			if found[key] == nil {
				order = append(order, key)
			}
			found[key] = p
		}
	}
	for _, key := range order {
		at := found[key]
		if key.in == rest.InPath {
			if !inPath[key.name] {
				b.note(at, "parameter", "the path has no {"+plain.Quote(key.name)+"}")
				continue
			}
			delete(inPath, key.name)
		}
		p, defs, l := b.param(key, at)
		if l != nil {
			if at.get("required").isTrue() || key.in == rest.InPath {
				return l
			}
			b.note(l.at, "parameter", l.reason)
			continue
		}
		if p != nil {
			b.add(*p, at, defs)
		}
	}
	for _, match := range placeholder.FindAllStringSubmatch(b.op.Path, -1) {
		if name := match[1]; inPath[name] {
			b.note(b.op.at, "", "the parameter "+plain.Quote(name)+" of the path is not described; it is taken for a text")
			b.add(rest.Param{Name: name, In: rest.InPath, Required: true}, b.op.at, nil)
		}
	}
	return nil
}

// param makes a parameter; nil if it belongs to the login or to HTTP itself.
func (b *builder) param(key placed, at *node) (*rest.Param, []*def, *loss) {
	name := at.get("name").text()
	if name == "" {
		return nil, nil, lost(at, "a parameter has a name")
	}
	switch key.in {
	case rest.InPath, rest.InQuery:
	case rest.InHeader:
		switch key.name {
		case "accept", "content-type", "authorization": // OpenAPI 3.1, section 4.8.12.2.1
			return nil, nil, nil
		}
	default:
		return nil, nil, lost(at, "parameters in "+plain.Quote(string(key.in))+" cannot be sent, only those in the path, the query and headers")
	}
	if scheme := b.login.keys[key]; scheme != "" {
		if !b.login.chosen[scheme] {
			b.note(at, "parameter", "it is the login "+plain.Quote(scheme)+", which is nothing for a model to know")
		}
		return nil, nil, nil
	}
	p := &rest.Param{
		Name: name, In: key.in,
		Description: strings.TrimSpace(at.get("description").text()),
		Required:    at.get("required").isTrue() || key.in == rest.InPath,
	}
	if at.get("deprecated").isTrue() {
		p.Description = strings.TrimSpace("Deprecated. " + p.Description)
	}
	schema := at.get("schema")
	if schema == nil && at.get("content") != nil {
		media := at.get("content").each()
		if len(media) != 1 || !isJSON(media[0].key) {
			return nil, nil, lost(at, "a parameter has one content, and only JSON can be written")
		}
		m, l := b.resolve(media[0])
		if l != nil {
			return nil, nil, l
		}
		schema, p.Style = m.get("schema"), "json"
	} else if l := b.style(p, at); l != nil {
		return nil, nil, l
	}
	raw, defs, l := b.schema(schema, usual)
	p.Schema = raw
	return p, defs, l
}

// style takes over how a parameter is written, where it is not as usual.
func (b *builder) style(p *rest.Param, at *node) *loss {
	usual := "form"
	if p.In == rest.InPath || p.In == rest.InHeader {
		usual = "simple"
	}
	if style := at.get("style").text(); style != "" && style != usual {
		return lost(at.get("style"), "the style "+plain.Quote(style)+" cannot be sent in the "+string(p.In))
	}
	if explode := at.get("explode").flag(); explode != nil && *explode != (usual == "form") {
		p.Explode = explode
	}
	return nil
}

// placeholder matches a name between braces, in the path of an operation.
var placeholder = regexp.MustCompile(`\{([^}]*)\}`)
