package openapi

import (
	"cmp"
	"mime"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

const (
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// body takes over the request's body.
func (b *builder) body() *loss {
	at := b.op.at.get("requestBody")
	if at == nil {
		return nil
	}
	given, l := b.resolve(at)
	if l != nil {
		return l
	}
	required := given.get("required").isTrue()
	if b.op.Method == "GET" {
		l = lost(at, "a GET has no body that means anything (RFC 9110, section 9.3)")
	} else {
		l = b.content(given, required)
	}
	if l != nil && !required {
		b.note(l.at, "parameter", "the body: "+l.reason)
		l = nil
	}
	return l
}

// content chooses one of the media types of the body.
func (b *builder) content(given *node, required bool) *loss {
	media, rank := (*node)(nil), 0
	for _, m := range given.get("content").each() {
		if r := rankOf(m.key); r > rank {
			media, rank = m, r
		}
	}
	if media == nil {
		return lost(given, "it is none of JSON, form, multipart and text, and only these can be written")
	}
	typ := media.key
	if typ == "*/*" {
		typ = "application/json"
	}
	media, l := b.resolve(media)
	if l != nil {
		return l
	}
	how := sent
	if b.op.Method == "PATCH" {
		how = patched
	}
	schema := media.get("schema")
	base := mediaType(typ)
	description := strings.TrimSpace(given.get("description").text())
	if base == "text/plain" {
		return b.whole(typ, description, schema, required, how)
	}
	fields := base == formType || base == multipartType
	members, l := b.members(schema, required, fields)
	if l != nil {
		return l
	}
	if members == nil {
		return b.whole(typ, description, schema, required, how)
	}
	return b.spread(typ, members, media.get("encoding"), fields, how)
}

// rankOf returns how well a media type suits, the best last; 0 for those that cannot be
// written.
func rankOf(typ string) int {
	base := mediaType(typ)
	switch {
	case base == "application/json":
		return 6
	case isJSON(typ):
		return 5
	}
	return 1 + slices.Index([]string{"*/*", "text/plain", multipartType, formType}, base)
}

func mediaType(typ string) string {
	base, _, err := mime.ParseMediaType(typ)
	if err != nil {
		return ""
	}
	return base
}

func isJSON(typ string) bool {
	base := mediaType(typ)
	return base == "application/json" || strings.HasPrefix(base, "application/") && strings.HasSuffix(base, "+json")
}

// whole makes one argument of the body.
func (b *builder) whole(typ, description string, schema *node, required bool, how manner) *loss {
	raw, defs, l := b.schema(schema, how)
	if l != nil {
		return l
	}
	if description != "" {
		raw = withDescription(raw, description)
	}
	body := &rest.Body{Argument: b.arguments.take("body"), Schema: raw, Required: required}
	if typ != "application/json" {
		body.ContentType = typ
	}
	b.endpoint.Body = body
	b.use(raw, defs)
	return nil
}

// spread makes an argument of each member of the body.
func (b *builder) spread(typ string, members []member, encoding *node, fields bool, how manner) *loss {
	var params []rest.Param
	var places []*node
	var defs [][]*def
	for _, m := range members {
		p := rest.Param{Name: m.at.key, In: rest.InBody, Required: m.required}
		l := b.field(&p, m.at, encoding.get(m.at.key), fields)
		var refs []*def
		if l == nil {
			p.Schema, refs, l = b.schema(m.at, how)
		}
		if l != nil {
			if m.required {
				return l
			}
			b.note(l.at, "parameter", l.reason)
			continue
		}
		params, places, defs = append(params, p), append(places, m.at), append(defs, refs)
	}
	for i, p := range params {
		b.add(p, places[i], defs[i])
	}
	if typ != "application/json" {
		b.endpoint.Body = &rest.Body{ContentType: typ}
	}
	return nil
}

// field says how a field of a form is written.
func (b *builder) field(p *rest.Param, at, encoding *node, fields bool) *loss {
	if !fields {
		return nil
	}
	schema, l := b.resolve(at)
	if l != nil {
		return l
	}
	if items := schema.get("items"); items != nil {
		if schema, l = b.resolve(items); l != nil {
			return l
		}
	}
	switch typ := mediaType(schema.get("contentMediaType").text()); {
	case schema.get("format").text() == "binary", typ == "application/octet-stream", strings.HasPrefix(typ, "image/"):
		return lost(at, "it is a file, and files cannot be sent")
	}
	if typ := encoding.get("contentType").text(); typ != "" {
		switch {
		case isJSON(typ):
			p.Style = "json"
			return nil
		case mediaType(typ) != "text/plain":
			return lost(encoding, "it is written as "+plain.Quote(typ)+", and only text and JSON can be")
		}
	}
	if style := encoding.get("style").text(); style != "" && style != "form" {
		return lost(encoding, "the style "+plain.Quote(style)+" cannot be sent in a form")
	}
	p.Explode = encoding.get("explode").flag()
	return nil
}

// A member is a property of the object that a body is.
type member struct {
	at       *node // the property's schema
	required bool
}

// members returns the members of a body that is an object and nothing more, so that
// each of them can be an argument; nil if it is not: if it can be something else, may
// have other members, or if one of its members has the name of a parameter. The fields
// of a form always are arguments, unless any may be sent.
func (b *builder) members(schema *node, bodyRequired, fields bool) ([]member, *loss) {
	at, l := b.resolve(schema)
	if l != nil {
		return nil, l
	}
	properties := at.get("properties")
	if len(properties.each()) == 0 || len(properties.each()) > maxParams {
		return nil, nil
	}
	if typ := at.get("type"); typ != nil && typ.text() != "object" || at.get("nullable").isTrue() {
		return nil, nil
	}
	for _, key := range []string{
		"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired",
		"minProperties", "maxProperties", "propertyNames", "unevaluatedProperties", "enum", "const", "$ref",
	} {
		if at.get(key) != nil {
			return nil, nil
		}
	}
	if more := at.get("additionalProperties"); more != nil && more.kind() != 'f' {
		return nil, nil
	}
	required := map[string]bool{}
	for _, r := range at.get("required").each() {
		required[r.text()] = true
	}
	taken := map[string]bool{}
	for _, p := range b.endpoint.Params {
		taken[cmp.Or(p.Argument, p.Name)] = true
	}
	var members []member
	for _, p := range properties.each() {
		if b.readOnly(p) {
			continue
		}
		// Without what is required there may still be a request without a body.
		if taken[p.key] || required[p.key] && !bodyRequired && !fields {
			return nil, nil
		}
		members = append(members, member{p, required[p.key]})
	}
	return members, nil
}
