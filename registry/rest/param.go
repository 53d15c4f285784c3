package rest

import (
	"cmp"
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
)

// path is how the argument is called in problems.
func (p *Param) path() string { return schemagate.Member("", p.Argument) }

// needed reports whether a call without the argument fails.
func (p *Param) needed() bool {
	return p.Default == nil && (p.Required || p.In == InPath)
}

// exploded reports whether each element is a parameter of its own.
func (p *Param) exploded() bool { return p.Explode == nil || *p.Explode }

// compileParam checks a parameter, apart from its neighbours, and fills in defaults.
func (s *Service) compileParam(p *Param, kind bodyKind, at string, found *problems) {
	p.Argument = cmp.Or(p.Argument, p.Name)
	if problem := checkName(p.Name); problem != "" {
		found.add(at+".name", problem)
	}
	if problem := checkName(p.Argument); problem != "" && p.Argument != p.Name {
		found.add(at+".argument", problem)
	}
	switch text := string(p.Schema); {
	case p.Schema == nil:
		p.Schema = json.RawMessage(`{"type":"string"}`)
	case text == "true":
		p.Schema = json.RawMessage(`{}`)
	case text[0] != '{' || jsonscan.Valid(p.Schema) != nil:
		found.add(at+".schema", "is not a JSON Schema, which is an object")
		p.Schema = json.RawMessage(`{}`)
	}
	if p.Default != nil && jsonscan.Valid(p.Default) != nil {
		found.add(at+".default", "is not JSON")
	}
	usual := "form"
	switch p.In {
	case InPath:
		usual = "simple"
	case InQuery:
	case InHeader:
		usual = "simple"
		if problem := s.headerProblem(p.Name); problem != "" && !s.login.sets(InHeader, p.Name) {
			found.add(at+".name", problem)
		}
	case InBody:
		if kind == jsonBody && (p.Style != "" || p.Explode != nil) {
			found.add(at+".style", "is not for a body of JSON; leave it and explode out")
		}
	default:
		found.add(at+".in", "is none of path, query, header and body; a cookie is one of the headers of the API")
		return
	}
	if p.Style != "" && p.Style != usual && p.Style != styleJSON {
		found.add(at+".style", fmt.Sprintf("is %s; in the %s it is %s or json", plain.Quote(p.Style), p.In, usual))
	}
	for key, value := range jsonscan.Fields(p.Schema) {
		if string(key) == "type" && string(value) == `"object"` && p.In != InBody && p.Style != styleJSON {
			found.add(at+".style", "has to be json for an object")
		}
	}
	if s.login.sets(p.In, p.Name) {
		found.add(at+".name", "is what the login sets: leave the parameter out")
	}
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

// headerProblem says why a header cannot be a parameter.
func (s *Service) headerProblem(name string) string {
	switch known := http.CanonicalHeaderKey(name); {
	case known == "Authorization", known == "Cookie", known == "Set-Cookie":
		return "is for a login, which auth and headers of the API describe, not a model"
	case known == "Content-Type":
		return "is set from body.contentType"
	case !httpfield.ValidName(name):
		return "is not the name of a header"
	case !headerMaySet(name):
		return "is a header that belongs to the connection"
	case s.hasHeader(name):
		return "is among the headers of the API already"
	}
	return ""
}

// sentAs identifies what cannot be in a request twice.
func sentAs(p *Param) string {
	if p.In == InHeader {
		return "header " + strings.ToLower(p.Name)
	}
	return string(p.In) + " " + p.Name
}

// compileParams checks the parameters and the body, also against each other.
func (o *operation) compileParams(found *problems) {
	if len(o.Params) > maxParams {
		found.add("params", fmt.Sprintf("are %d, at most %d are allowed", len(o.Params), maxParams))
		return
	}
	contentType := ""
	if o.Body != nil {
		contentType = o.Body.ContentType
	}
	kind, header, problem := kindOfBody(contentType)
	if problem != "" {
		found.add("body.contentType", problem)
		kind = jsonBody
	}
	sent := map[string]bool{}
	for i := range o.Params {
		p, at := &o.Params[i], place("params", i)
		o.service.compileParam(p, kind, at, found)
		if slices.Contains(o.known, p.Argument) {
			found.add(at+".argument", "is "+plain.Quote(p.Argument)+", as that of another parameter is")
		}
		o.known = append(o.known, p.Argument)
		if sent[sentAs(p)] {
			found.add(at+".name", fmt.Sprintf("is sent as %s in the %s, as something else is", plain.Quote(p.Name), p.In))
		}
		sent[sentAs(p)] = true
	}
	o.accept = o.accept && !sent["header accept"]
	o.compileBody(kind, header, found)
	if whole := o.whole; whole != "" {
		if slices.Contains(o.known, whole) {
			found.add("body.argument", "is "+plain.Quote(whole)+", as that of a parameter is")
		}
		o.known = append(o.known, whole)
	}
}
