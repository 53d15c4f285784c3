package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A parameter is a [Param] that was checked.
type parameter struct {
	Param
	style    string
	explode  bool
	fallback json.RawMessage // the value of a missing argument; nil: none
	members  map[string]bool // the members that the schema names
}

// path is how the argument is called in problems.
func (p *parameter) path() string { return schemagate.Member("", p.Argument) }

// needed reports whether a call without the argument fails.
func (p *parameter) needed() bool {
	return p.fallback == nil && (p.Required || p.In == InPath)
}

// compileParam checks a parameter, apart from its neighbours.
func compileParam(api *API, l *login, given Param, defs json.RawMessage, form payloadKind, at string, found *problems) *parameter {
	p := &parameter{Param: given, style: given.Style}
	if p.Argument == "" {
		p.Argument = p.Name
	}
	if p.Schema == nil {
		p.Schema = json.RawMessage(`{"type":"string"}`)
	}
	if problem := checkName(p.Name); problem != "" {
		found.add(at+".name", problem)
	}
	if problem := checkName(p.Argument); problem != "" && p.Argument != p.Name {
		found.add(at+".argument", problem)
	}
	if !p.compileSchema(defs, at, found) {
		return p
	}
	p.compilePlace(api, l, at, found)
	p.compileStyle(form, at, found)
	p.compileDefault(defs, form, at, found)
	return p
}

// checkName checks the name of a parameter or an argument.
func checkName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "has control characters or is not UTF-8"
	}
	return ""
}

// compileSchema reports whether the schema can be read.
func (p *parameter) compileSchema(defs json.RawMessage, at string, found *problems) bool {
	text := strings.TrimSpace(string(p.Schema))
	if text == "true" {
		p.Schema = json.RawMessage(`{}`)
	} else if !strings.HasPrefix(text, "{") {
		found.add(at+".schema", "is not a JSON Schema, which is an object")
		return false
	}
	if err := jsonscan.Valid(p.Schema); err != nil {
		found.add(at+".schema", "is not JSON: "+err.Error())
		return false
	}
	p.members = membersOf(p.Schema, defs)
	return true
}

// compilePlace checks what the place asks of the name.
func (p *parameter) compilePlace(api *API, l *login, at string, found *problems) {
	switch p.In {
	case InPath, InQuery, InBody:
	case InHeader:
		if !httpfield.ValidName(p.Name) {
			found.add(at+".name", "is not the name of a header")
		} else if problem := reservedHeader(api, p.Name); problem != "" && !strings.EqualFold(p.Name, l.header()) { // that is said already
			found.add(at+".name", problem)
		}
	case InCookie:
		if !httpfield.ValidName(p.Name) {
			found.add(at+".name", "is not the name of a cookie")
		}
	default:
		found.add(at+".in", "is none of path, query, header, cookie and body")
	}
}

// reservedHeader says why a header cannot be a parameter.
func reservedHeader(api *API, name string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Cookie", "Set-Cookie":
		return `is set from the parameters with "in": "cookie"`
	case "Content-Type":
		return "is set from body.contentType"
	case "Authorization":
		return "is for a login, which auth and headers of the API describe, not a model"
	}
	if !headerMaySet(name) {
		return "is a header that belongs to the connection"
	}
	for have := range api.Headers {
		if strings.EqualFold(have, name) {
			return "is among the headers of the API already"
		}
	}
	return ""
}

// compileStyle checks the style, and sets the one that is meant if there is none.
func (p *parameter) compileStyle(form payloadKind, at string, found *problems) {
	usual := styleForm
	switch p.In {
	case InPath, InHeader:
		usual = styleSimple
	case InCookie, InQuery:
	case InBody:
		if form == jsonPayload {
			p.members = nil // they stay in their object
			if p.Style != "" || p.Explode != nil {
				found.add(at+".style", "is not for a body of JSON; leave it and explode out")
			}
			return
		}
	default:
		return
	}
	switch {
	case p.style == "" && p.In != InBody: // where it is styleField
		p.style = usual
	case p.style != "" && p.style != usual && p.style != styleJSON:
		found.add(at+".style", fmt.Sprintf("is %s; in the %s it is %s or json", plain.Quote(p.style), p.In, usual))
		return
	}
	p.explode = p.style == styleForm || p.style == styleField
	if p.Explode != nil {
		p.explode = *p.Explode
	}
	if !p.spreads() {
		p.members = nil
	} else if len(p.members) == 0 && isObjectSchema(p.Schema) {
		found.add(at+".schema", "names no properties, which would become parameters of their own; name them, or set explode to false")
	}
	if p.In == InCookie {
		for name := range p.members {
			if !httpfield.ValidName(name) {
				found.add(at+".schema", "has the property "+plain.Quote(name)+", which cannot be the name of a cookie")
			}
		}
	}
}

// spreads reports whether the members of an object become parameters of their own.
func (p *parameter) spreads() bool {
	return p.explode && p.style == styleForm
}

// compileDefault checks that the default fits the schema and can be written.
func (p *parameter) compileDefault(defs json.RawMessage, form payloadKind, at string, found *problems) {
	value, own := p.Default, true
	if value == nil {
		own = false
		for key, v := range jsonscan.Fields(p.Schema) {
			if string(key) == "default" {
				value = slices.Clone(v)
			}
		}
	}
	if value == nil {
		return
	}
	problem := p.checkValue(value, defs, form)
	switch {
	case problem != "" && own:
		found.add(at+".default", problem)
	case problem == "" && string(value) != "null":
		p.fallback = value
	}
}

// checkValue says why a value cannot be sent.
func (p *parameter) checkValue(value, defs json.RawMessage, form payloadKind) string {
	if err := jsonscan.Valid(value); err != nil {
		return "is not JSON: " + err.Error()
	}
	schema, err := schemagate.Compile(p.alone(defs))
	if err != nil {
		return "" // that is said of the schema
	}
	wrapped := append(append([]byte(`{"value":`), value...), '}')
	if list := schema.Problems(wrapped); len(list) > 0 {
		return "does not fit the schema: it must be " + list[0].Want
	}
	var problem *registry.Problem
	switch {
	case p.In == InPath:
		var text string
		if text, problem = p.pathValue(value); problem == nil && leaves(text) {
			return "leads out of its place in the path"
		}
	case p.In == InQuery:
		_, problem = p.queryPairs(value)
	case p.In == InHeader:
		_, _, problem = p.headerValue(value)
	case p.In == InCookie:
		_, problem = p.cookiePairs(value)
	case p.In == InBody && (form == formPayload || form == multipartPayload):
		_, problem = p.formPairs(value)
	}
	if problem != nil {
		return "must be " + problem.Want
	}
	return ""
}

// alone returns the schema of an object whose member "value" is the parameter.
func (p *parameter) alone(defs json.RawMessage) json.RawMessage {
	text := []byte(`{"properties":{"value":`)
	text = append(append(text, p.Schema...), '}')
	if defs != nil && bytes.Contains(p.Schema, []byte("#/$defs/")) {
		text = append(append(text, `,"$defs":`...), defs...)
	}
	return append(text, '}')
}

// isObjectSchema reports whether a schema says that a value is an object.
func isObjectSchema(schema json.RawMessage) bool {
	for key, value := range jsonscan.Fields(schema) {
		if string(key) == "type" {
			return string(value) == `"object"` || strings.HasPrefix(string(value), "[") && strings.Contains(string(value), `"object"`)
		}
	}
	return false
}

// maxHops is how many references are followed in search of properties.
const maxHops = 8

// membersOf returns the names of the properties of a schema, also where it is a
// reference to one of defs.
func membersOf(schema, defs json.RawMessage) map[string]bool {
	for range maxHops {
		next := ""
		for key, value := range jsonscan.Fields(schema) {
			switch string(key) {
			case "properties":
				members := map[string]bool{}
				for name := range jsonscan.Fields(value) {
					members[string(name)] = true
				}
				return members
			case "$ref":
				next, _ = jsonscan.String(value)
			}
		}
		name, ok := strings.CutPrefix(next, "#/$defs/")
		if !ok {
			return nil
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(decode(name))
		schema = nil
		for key, value := range jsonscan.Fields(defs) {
			if string(key) == name {
				schema = value
			}
		}
		if schema == nil {
			return nil
		}
	}
	return nil
}
