package openapi

import (
	"bytes"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A schemaWriter writes schemas of OpenAPI as JSON Schema 2020-12.
type schemaWriter struct {
	*document
	how  manner
	out  []byte
	refs []*def // that were written
}

// A shape is what the value of a keyword is.
type shape int

const (
	dropped shape = iota
	anything
	aText
	aNumber
	aFlag
	aList
	aType
	aBound // a number, or in OpenAPI 3.0 a boolean
	aSchema
	schemaList
	schemaMap
	listMap // names to lists of names
)

// keywordShape returns what is expected of a keyword. Those that mean nothing to a
// validator or a model are dropped: discriminator, xml, externalDocs, $schema, $id,
// $comment, and those that begin with x-.
func keywordShape(key string) shape {
	switch key {
	case "title", "description", "format", "pattern", "contentEncoding", "contentMediaType":
		return aText
	case "multipleOf", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems",
		"maxProperties", "minProperties", "maxContains", "minContains":
		return aNumber
	case "exclusiveMaximum", "exclusiveMinimum":
		return aBound
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return aFlag
	case "default", "const", "example":
		return anything
	case "enum", "required", "examples":
		return aList
	case "type":
		return aType
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return aSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return schemaList
	case "properties", "patternProperties", "dependentSchemas":
		return schemaMap
	case "dependentRequired":
		return listMap
	}
	return dropped
}

// schema writes one schema. The properties in hidden are not required in it.
func (w *schemaWriter) schema(at *node, hidden map[string]bool) *loss {
	switch at.kind() {
	case 't', 'f':
		w.out = append(w.out, at.raw...)
		return nil
	case '{':
	default:
		return lost(at, "a schema is an object")
	}
	if at.get("$dynamicRef") != nil || at.get("$recursiveRef") != nil {
		return lost(at, "dynamic references are not followed")
	}
	null := at.get("nullable").isTrue()
	_, typed := w.types(at)
	wrap := null && !typed && (at.get("$ref") != nil || at.get("allOf") != nil || at.get("anyOf") != nil ||
		at.get("oneOf") != nil || at.get("enum") != nil)
	if wrap {
		w.out = append(w.out, `{"anyOf":[`...)
	}
	w.out = append(w.out, '{')
	if l := w.members(at, w.hidden(at, hidden), null && !wrap); l != nil {
		return l
	}
	w.out = append(w.out, '}')
	if wrap {
		w.out = append(w.out, `,{"type":"null"}]}`...)
	}
	return nil
}

func (w *schemaWriter) members(at *node, hidden map[string]bool, null bool) *loss {
	ref := at.get("$ref")
	if ref.kind() == '"' {
		target, l := w.find(at, ref.text())
		if l != nil {
			return l
		}
		one := w.def(target, w.how)
		w.refs = append(w.refs, one)
		w.out = canonjson.AppendString(appendMember(w.out, "$ref"), "#/$defs/"+one.name)
	}
	for _, m := range at.each() {
		if w.old && ref != nil && m.key != "description" && m.key != "title" {
			continue // OpenAPI 3.0.4, section 4.7.23.2
		}
		if l := w.keyword(at, m, hidden, null); l != nil {
			return l
		}
	}
	return nil
}

// keyword writes one member of a schema.
func (w *schemaWriter) keyword(at, m *node, hidden map[string]bool, null bool) *loss {
	what := keywordShape(m.key)
	if what == dropped || w.how != usual && (m.key == "readOnly" || m.key == "writeOnly") {
		return nil
	}
	if !fitsShape(what, m) {
		w.problems.add(nil, m, "keyword", "it is not what "+m.key+" has to be")
		return nil
	}
	switch what {
	case aText, aNumber, aFlag, anything:
		w.plain(at, m)
	case aBound:
		w.bound(at, m)
	case aType:
		w.typ(at, m, null)
	case aList, listMap:
		w.list(m, hidden, null)
	case aSchema:
		w.out = appendMember(w.out, m.key)
		return w.schema(m, nil)
	case schemaList:
		return w.schemas(m, hidden)
	case schemaMap:
		return w.schemaMap(m)
	}
	return nil
}

func fitsShape(what shape, m *node) bool {
	switch k := m.kind(); what {
	case aText:
		return k == '"'
	case aNumber:
		return k == '0'
	case aFlag:
		return k == 't' || k == 'f'
	case aBound:
		return k == '0' || k == 't' || k == 'f'
	case aList, schemaList:
		return k == '['
	case aSchema:
		return k == '{' || k == 't' || k == 'f'
	case schemaMap, listMap:
		return k == '{'
	}
	return true
}

// plain writes a keyword as it is.
func (w *schemaWriter) plain(at, m *node) {
	key := m.key
	switch key {
	case "default":
		if w.how == patched {
			return
		}
	case "example":
		if at.get("examples") != nil || len(m.raw) > maxExample {
			return
		}
		w.out = append(append(append(appendMember(w.out, "examples"), '['), m.raw...), ']')
		return
	case "maximum", "minimum":
		// In OpenAPI 3.0 the exclusive bound is a flag beside it.
		if at.get(exclusive(key)).isTrue() {
			key = exclusive(key)
		}
	}
	w.out = append(appendMember(w.out, key), m.raw...)
}

func exclusive(bound string) string {
	if bound == "maximum" {
		return "exclusiveMaximum"
	}
	return "exclusiveMinimum"
}

// bound writes exclusiveMaximum and exclusiveMinimum; as a flag they have been
// written with their number.
func (w *schemaWriter) bound(_, m *node) {
	if m.kind() == '0' {
		w.out = append(appendMember(w.out, m.key), m.raw...)
	}
}

// types returns the types of a schema that JSON Schema knows, and whether there are
// any.
func (w *schemaWriter) types(at *node) ([]string, bool) {
	var known []string
	add := func(m *node) {
		switch t := m.text(); t {
		case "string", "number", "integer", "boolean", "array", "object", "null":
			known = append(known, t)
		}
	}
	typ := at.get("type")
	if typ.kind() == '[' {
		for _, t := range typ.each() {
			add(t)
		}
	} else {
		add(typ)
	}
	return known, len(known) > 0
}

func (w *schemaWriter) typ(at, m *node, null bool) {
	known, ok := w.types(at)
	if !ok {
		w.problems.add(nil, m, "keyword", "JSON Schema has no type "+plain.Quote(string(m.raw)))
		return
	}
	if null {
		known = append(known, "null")
	}
	w.out = appendMember(w.out, "type")
	if len(known) == 1 {
		w.out = canonjson.AppendString(w.out, known[0])
		return
	}
	w.out = append(w.out, '[')
	seen := map[string]bool{}
	for i, t := range known {
		if seen[t] {
			continue
		}
		seen[t] = true
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = canonjson.AppendString(w.out, t)
	}
	w.out = append(w.out, ']')
}

// list writes a list of values.
func (w *schemaWriter) list(m *node, hidden map[string]bool, null bool) {
	switch m.key {
	case "required":
		w.required(m, hidden)
		return
	case "examples":
		if len(m.raw) > maxExample {
			return
		}
	case "enum":
		if len(m.each()) == 0 {
			w.problems.add(nil, m, "keyword", "an enum has values")
			return
		}
		for _, v := range m.each() {
			null = null && v.kind() != 'n'
		}
		if null {
			raw := bytes.TrimRight(m.raw[:len(m.raw)-1], " \t\r\n")
			w.out = append(append(appendMember(w.out, m.key), raw...), ",null]"...)
			return
		}
	}
	w.out = append(appendMember(w.out, m.key), m.raw...)
}

func (w *schemaWriter) required(m *node, hidden map[string]bool) {
	seen := map[string]bool{}
	for _, r := range m.each() {
		name := r.text()
		if r.kind() != '"' || hidden[name] || seen[name] {
			continue
		}
		if len(seen) == 0 {
			w.out = append(appendMember(w.out, "required"), '[')
		} else {
			w.out = append(w.out, ',')
		}
		seen[name] = true
		w.out = canonjson.AppendString(w.out, name)
	}
	if len(seen) > 0 {
		w.out = append(w.out, ']')
	}
}

func (w *schemaWriter) schemas(m *node, hidden map[string]bool) *loss {
	if len(m.each()) == 0 {
		return nil
	}
	if m.key != "allOf" {
		hidden = nil
	}
	w.out = append(appendMember(w.out, m.key), '[')
	for i, one := range m.each() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if l := w.schema(one, hidden); l != nil {
			return l
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *schemaWriter) schemaMap(m *node) *loss {
	w.out = append(appendMember(w.out, m.key), '{')
	for _, one := range m.each() {
		if m.key == "properties" && w.how != usual && w.readOnly(one) {
			continue
		}
		w.out = appendMember(w.out, one.key)
		if l := w.schema(one, nil); l != nil {
			return l
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// readOnly reports whether a property is only in answers.
func (d *document) readOnly(property *node) bool {
	if property.get("readOnly").isTrue() && !(d.old && property.get("$ref") != nil) {
		return true
	}
	target, l := d.resolve(property)
	return l == nil && target.get("readOnly").isTrue()
}

// hidden adds to the properties that are not there those that a schema, and what it
// is all of, has for answers only.
func (w *schemaWriter) hidden(at *node, above map[string]bool) map[string]bool {
	if w.how == usual {
		return nil
	}
	hidden := map[string]bool{}
	for name := range above {
		hidden[name] = true
	}
	w.gather(at, hidden, map[*node]bool{})
	return hidden
}

func (w *schemaWriter) gather(at *node, hidden map[string]bool, seen map[*node]bool) {
	const most = 256 // schemas that one schema is all of
	target, l := w.resolve(at)
	if l != nil || seen[target] || len(seen) == most {
		return
	}
	seen[target] = true
	for _, p := range target.get("properties").each() {
		if w.readOnly(p) {
			hidden[p.key] = true
		}
	}
	for _, part := range target.get("allOf").each() {
		w.gather(part, hidden, seen)
	}
}
