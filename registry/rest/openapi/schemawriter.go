package openapi

import (
	"bytes"
	"maps"
	"slices"
	"strings"

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

// A nesting says where in the value of a keyword schemas are.
type nesting int

const (
	noSchema nesting = iota
	oneSchema
	schemaList
	schemaMap
)

// keywordOf returns the first bytes that the value of a keyword may have, see node.kind, and
// where schemas are in it. There are no such bytes for keywords that mean nothing to a validator
// or a model, which are dropped: discriminator, xml, externalDocs, $schema, $id, $comment, and
// those that begin with x-.
func keywordOf(key string) (kinds string, in nesting) {
	switch key {
	case "title", "description", "format", "pattern", "contentEncoding", "contentMediaType":
		return `"`, noSchema
	case "multipleOf", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems",
		"maxProperties", "minProperties", "maxContains", "minContains":
		return "0", noSchema
	case "exclusiveMaximum", "exclusiveMinimum": // in OpenAPI 3.0 a boolean
		return "0tf", noSchema
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return "tf", noSchema
	case "default", "const", "example":
		return `{["0tfn`, noSchema
	case "enum", "required", "examples":
		return "[", noSchema
	case "type":
		return `"[`, noSchema
	case "dependentRequired":
		return "{", noSchema
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return "{tf", oneSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return "[", schemaList
	case "properties", "patternProperties", "dependentSchemas":
		return "{", schemaMap
	}
	return "", noSchema
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
	wrap := null && len(w.types(at)) == 0 && (at.get("$ref") != nil || at.get("allOf") != nil || at.get("anyOf") != nil ||
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
	kinds, in := keywordOf(m.key)
	if kinds == "" || w.how != usual && (m.key == "readOnly" || m.key == "writeOnly") {
		return nil
	}
	if strings.IndexByte(kinds, m.kind()) < 0 {
		w.problems.tell(nil, m, "keyword", "it is not what "+m.key+" has to be")
		return nil
	}
	switch in {
	case oneSchema:
		w.out = appendMember(w.out, m.key)
		return w.schema(m, nil)
	case schemaList:
		return w.schemas(m, hidden)
	case schemaMap:
		return w.schemaMap(m)
	}
	key, raw := m.key, m.raw
	switch key {
	case "default":
		if w.how == patched {
			return nil
		}
	case "example":
		if at.get("examples") != nil || len(raw) > maxExample {
			return nil
		}
		key, raw = "examples", slices.Concat([]byte("["), raw, []byte("]"))
	case "examples":
		if len(raw) > maxExample {
			return nil
		}
	case "maximum", "minimum":
		// In OpenAPI 3.0 the exclusive bound is a flag beside it.
		if flag := "exclusive" + strings.ToUpper(key[:1]) + key[1:]; at.get(flag).isTrue() {
			key = flag
		}
	case "exclusiveMaximum", "exclusiveMinimum":
		if m.kind() != '0' {
			return nil // it has been written with its number
		}
	case "type":
		return w.typ(at, m, null)
	case "required":
		w.required(m, hidden)
		return nil
	case "enum":
		if len(m.each()) == 0 {
			w.problems.tell(nil, m, "keyword", "an enum has values")
			return nil
		}
		if null && !slices.ContainsFunc(m.each(), func(v *node) bool { return v.kind() == 'n' }) {
			raw = append(bytes.TrimRight(slices.Clone(raw[:len(raw)-1]), " \t\r\n"), ",null]"...)
		}
	}
	w.out = append(appendMember(w.out, key), raw...)
	return nil
}

// types returns the types of a schema that JSON Schema knows.
func (w *schemaWriter) types(at *node) []string {
	var known []string
	typ := at.get("type")
	all := []*node{typ}
	if typ.kind() == '[' {
		all = typ.each()
	}
	for _, one := range all {
		switch t := one.text(); t {
		case "string", "number", "integer", "boolean", "array", "object", "null":
			if !slices.Contains(known, t) {
				known = append(known, t)
			}
		}
	}
	return known
}

func (w *schemaWriter) typ(at, m *node, null bool) *loss {
	known := w.types(at)
	switch {
	case len(known) == 0:
		w.problems.tell(nil, m, "keyword", "JSON Schema has no type "+plain.Quote(string(m.raw)))
		return nil
	case null && !slices.Contains(known, "null"):
		known = append(known, "null")
	}
	if w.out = appendMember(w.out, "type"); len(known) == 1 {
		w.out = canonjson.AppendString(w.out, known[0])
	} else {
		w.out = appendStrings(w.out, known)
	}
	return nil
}

func (w *schemaWriter) required(m *node, hidden map[string]bool) {
	var names []string
	seen := map[string]bool{}
	for _, r := range m.each() {
		if name := r.text(); r.kind() == '"' && !hidden[name] && !seen[name] {
			seen[name], names = true, append(names, name)
		}
	}
	if names != nil {
		w.out = appendStrings(appendMember(w.out, "required"), names)
	}
}

func appendStrings(dst []byte, list []string) []byte {
	for i, text := range list {
		dst = canonjson.AppendString(append(dst, "[,"[min(i, 1)]), text)
	}
	return append(dst, ']')
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
	maps.Copy(hidden, above)
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
