package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// Bounds on schemas, in bytes, with all that they refer to.
const (
	maxWrittenSchemas = 16 << 20 // of all endpoints
	maxLooked         = 64 << 20 // of all operations with what they refer to, also of those that are lost
	maxExample        = 1 << 10  // of one example; longer ones are left out
)

// A manner is what a schema is for.
type manner int

const (
	usual   manner = iota // a parameter
	sent                  // a body: properties that are only read are left out
	patched               // a body of which what is missing stays as it was: no defaults
)

type defKey struct {
	at  *node
	how manner
}

// A def is a schema that others refer to as #/$defs/NAME.
type def struct {
	key  defKey
	name string
	done bool
	raw  []byte
	refs []*def
	loss *loss
}

// def returns the schema at a place; what it holds is written later.
func (d *document) def(at *node, how manner) *def {
	key := defKey{at, how}
	if known := d.defs[key]; known != nil {
		return known
	}
	if d.defs == nil {
		d.defs = map[defKey]*def{}
	}
	name := cmp.Or(nameOf(at.key, maxName), "schema")
	one := &def{key: key, name: d.defNames.take(name)}
	d.defs[key] = one
	return one
}

func (d *document) finish(one *def) {
	if one.done {
		return
	}
	one.done = true
	w := schemaWriter{document: d, how: one.key.how}
	one.loss = w.schema(one.key.at, nil)
	one.raw, one.refs = w.out, w.refs
}

// look counts what is looked at. A document can have much of that come up again for
// each of its operations.
func (d *document) look(at *node, size int) *loss {
	if d.looked += size; d.looked > maxLooked {
		return lost(at, fmt.Sprintf("the operations before it, with what they refer to, are longer than %d bytes: take fewer by Options.Include", maxLooked))
	}
	return nil
}

// schema writes a schema of the document as one of JSON Schema 2020-12, whose references lead
// to defs. None at all is one that fits everything.
func (d *document) schema(at *node, how manner) (raw json.RawMessage, defs []*def, l *loss) {
	if at == nil {
		return json.RawMessage(`{}`), nil, nil
	}
	if l := d.look(at, len(at.raw)); l != nil {
		return nil, nil, l
	}
	w := schemaWriter{document: d, how: how}
	if l := w.top(at); l != nil {
		return nil, nil, l
	}
	if defs, l = d.closure(at, w.refs); l != nil {
		return nil, nil, l
	}
	whole := w.out
	if len(defs) > 0 {
		whole = append(appendMember(bytes.Clone(whole[:len(whole)-1]), "$defs"), appendDefs(nil, defs)...)
		whole = append(whole, '}')
	}
	if err := schemagate.Check(whole); err != nil {
		reason := err.Error()
		if refused, ok := errors.AsType[*schemagate.SchemaError](err); ok {
			reason = fmt.Sprintf("%s (%s)", refused.Detail, refused.Token)
		}
		return nil, nil, lost(at, "the schema cannot be used: "+reason)
	}
	return w.out, defs, nil
}

// appendDefs appends schemas by their names.
func appendDefs(dst []byte, defs []*def) []byte {
	dst = append(dst, '{')
	for _, one := range defs {
		dst = append(appendMember(dst, one.name), one.raw...)
	}
	return append(dst, '}')
}

// top writes a schema as an object. If it is a reference and nothing else, what it
// leads to stands in its place, for a model to read it there.
func (w *schemaWriter) top(at *node) *loss {
	for hops := 0; ; hops++ {
		ref := at.get("$ref")
		if ref.kind() != '"' || len(at.each()) > 1 || hops > maxHops {
			break
		}
		next, l := w.find(at, ref.text())
		if l != nil {
			return l
		}
		at = next
	}
	if l := w.schema(at, nil); l != nil {
		return l
	}
	switch string(w.out) {
	case "true":
		w.out = []byte(`{}`)
	case "false":
		w.out = []byte(`{"not":{}}`)
	}
	return nil
}

// closure returns all schemas that are referred to, directly or not.
func (d *document) closure(at *node, refs []*def) ([]*def, *loss) {
	var order []*def
	seen := map[*def]bool{}
	size := 0
	for queue := refs; len(queue) > 0; queue = queue[1:] {
		one := queue[0]
		if seen[one] {
			continue
		}
		seen[one] = true
		d.finish(one)
		if one.loss != nil {
			return nil, one.loss
		}
		if l := d.look(at, len(one.raw)+len(one.name)); l != nil {
			return nil, l
		}
		if size += len(one.raw) + len(one.name); size > schemagate.MaxBytes {
			return nil, lost(at, fmt.Sprintf("the schema is longer than %d bytes with what it refers to", schemagate.MaxBytes))
		}
		order = append(order, one)
		queue = append(queue, one.refs...)
	}
	return order, nil
}

// appendMember adds a key to an object that is not closed yet.
func appendMember(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(canonjson.AppendString(dst, key), ':')
}

// withDescription adds a description to a schema that has none.
func withDescription(raw json.RawMessage, text string) json.RawMessage {
	root := &node{raw: raw}
	if root.get("description") != nil {
		return raw
	}
	return append(canonjson.AppendString(appendMember(bytes.Clone(raw[:len(raw)-1]), "description"), text), '}')
}
