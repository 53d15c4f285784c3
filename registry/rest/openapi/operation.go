package openapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// Bounds on one operation.
const (
	maxOperations = 1 << 16 // that are looked at
	maxParams     = 1_000   // package rest takes fewer
	maxTags       = 1_000   // what comes behind is not seen
	sizeOfParam   = 128     // what looking at one costs, as if it were bytes of a schema
)

// An operation is one method of one path.
type operation struct {
	Operation // as it is shown to Options.Include, which may not have seen the tags
	at        *node
	item      *node // the path item that it is in
}

// String returns the operation as people name it.
func (op *operation) String() string { return plain.Line(op.Method + " " + op.Path) }

// operations returns the operations that are wanted, in the order of the document.
func (d *document) operations() []*operation {
	var ops []*operation
	for _, at := range d.root.get("paths").each() {
		if strings.HasPrefix(at.key, "x-") {
			continue
		}
		item, l := d.resolve(at)
		if l != nil {
			d.problems.tell(&operation{Operation: Operation{Method: "all of", Path: at.key}}, l.at, "operation", l.reason)
			continue
		}
		for _, m := range item.each() {
			if !isMethod(m.key) || !item.isObject() {
				continue
			}
			op := &operation{Operation: Operation{Method: strings.ToUpper(m.key), Path: at.key}, at: m, item: item}
			own, l := d.resolve(m) // no OpenAPI allows a reference here, but some have it
			if l == nil && !own.isObject() {
				l = lost(m, "an operation is an object")
			}
			if l == nil {
				op.at, op.ID = own, own.get("operationId").text()
			}
			if !d.included(op) {
				continue
			}
			if l != nil {
				d.problems.tell(op, l.at, "operation", l.reason)
				continue
			}
			if len(ops) == maxOperations {
				d.problems.tell(op, m, "operation", "there are too many operations; those behind are left out, too")
				return ops
			}
			ops = append(ops, op)
		}
	}
	return ops
}

// isMethod reports whether a member of a path item is an operation. Package rest takes
// some of them, and says so.
func isMethod(key string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}, key)
}

// endpoint makes an endpoint of an operation that package rest takes.
func (d *document) endpoint(api *rest.API, op *operation) (*rest.Endpoint, *loss) {
	b := &builder{document: d, op: op}
	for _, step := range []func() *loss{b.suits, b.describe, b.sameServer, b.params, b.body, func() *loss { return b.finish(api) }} {
		if l := step(); l != nil {
			return nil, l
		}
	}
	for _, p := range b.notes {
		d.problems.add(p)
	}
	return b.endpoint, nil
}

// describe makes the endpoint with all but its arguments, unless too much was looked at already.
func (b *builder) describe() *loss {
	size := len(b.op.at.raw)
	for _, key := range []string{"servers", "summary", "description"} {
		if of := b.op.item.get(key); of != nil {
			size += len(of.raw)
		}
	}
	if l := b.look(b.op.at, size); l != nil {
		return l
	}
	op := b.op
	e := &rest.Endpoint{
		Method:      op.Method,
		Path:        op.Path,
		Description: described(op.at.get("summary").text(), op.at.get("description").text()),
	}
	e.Description = cmp.Or(e.Description, described(op.item.get("summary").text(), op.item.get("description").text()))
	if op.at.get("deprecated").isTrue() {
		e.Description = strings.TrimSpace("Deprecated. " + e.Description)
	}
	if title := strings.TrimSpace(op.at.get("summary").text()); len(title) <= 100 && !strings.Contains(title, "\n") {
		e.Title = title
	}
	b.endpoint = e
	return nil
}
