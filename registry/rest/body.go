package rest

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A bodyPlan says how the body of a request is made.
type bodyPlan struct {
	kind        payloadKind
	contentType string
	whole       string        // the argument that is the body; empty: there is none
	template    *templateNode // nil: there is none
	members     []*parameter  // otherwise
	required    bool
	fallback    json.RawMessage // the whole body of a call that has none; nil: none
}

// kindOfBody returns the form of a body and its Content-Type.
func kindOfBody(contentType string) (kind payloadKind, header string, problem string) {
	if contentType == "" {
		return jsonPayload, "application/json", ""
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || strings.Count(media, "/") != 1 || !httpfield.ValidValue(contentType) {
		return noPayload, "", "is no media type such as application/json"
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return noPayload, "", "asks for a charset other than utf-8, which is what is sent"
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return jsonPayload, contentType, ""
	case media == "application/x-www-form-urlencoded":
		return formPayload, contentType, ""
	case media == "multipart/form-data":
		return multipartPayload, "", ""
	case strings.HasPrefix(media, "multipart/"):
		return noPayload, "", "is a multipart type other than multipart/form-data"
	}
	return textPayload, contentType, ""
}

// compileBody checks the body of an endpoint. Arguments are those of its parameters.
func compileBody(ep *Endpoint, params []*parameter, kind payloadKind, header string, found *problems) bodyPlan {
	var plan bodyPlan
	for i, p := range params {
		if p.In == InBody {
			plan.members = append(plan.members, p)
			if kind == textPayload {
				found.add(place("params", i)+".in", "is body, but a body of this content type has no members; use body.argument")
			}
		}
	}
	body := ep.Body
	if body == nil {
		if len(plan.members) == 0 {
			return plan
		}
		body = &Body{}
	}
	plan.kind, plan.contentType, plan.required = kind, header, body.Required
	if ep.Method == "" || ep.Method == "GET" || ep.Method == "HEAD" {
		found.add("method", "is GET or HEAD, whose requests have no body (RFC 9110, section 9.3.1); use POST, or put the parameters in the query")
	}
	switch {
	case body.Template != nil:
		if kind == textPayload {
			found.add("body.template", "is for JSON and forms only")
			break
		}
		plan.compileTemplate(body.Template, params, found)
	case body.Argument != "":
		if len(plan.members) > 0 {
			found.add("body.argument", "is the whole body, but there are parameters in the body, too")
		}
		if problem := checkName(body.Argument); problem != "" {
			found.add("body.argument", problem)
		}
		plan.whole = body.Argument
		if body.Schema != nil && body.Schema[0] == '{' && jsonscan.Valid(body.Schema) == nil {
			p := parameter{Param: Param{Schema: body.Schema, In: InBody}}
			p.compileDefault(ep.Defs, jsonPayload, "body", found)
			plan.fallback = p.fallback
		}
	case body.Schema != nil:
		found.add("body.schema", "is that of body.argument, which is missing")
	case kind == textPayload:
		found.add("body.argument", "is missing: a body of this content type is one argument")
	}
	return plan
}

func (plan *bodyPlan) compileTemplate(raw json.RawMessage, params []*parameter, found *problems) {
	known := map[string]bool{}
	for _, p := range params {
		known[p.Argument] = true
	}
	node, used, err := parseTemplate(raw, known)
	if err != nil {
		found.add("body.template", err.Error())
		return
	}
	if plan.kind != jsonPayload && node.object == nil {
		found.add("body.template", "is no object, whose members could become the fields of the form")
		return
	}
	for _, p := range plan.members {
		if !used[p.Argument] {
			found.add("body.template", "does not use {{"+p.Argument+"}}, so that the parameter goes nowhere")
		}
	}
	plan.template = node
}

// build makes the body of a call.
func (plan *bodyPlan) build(args arguments, m *mistakes) payload {
	p := payload{kind: plan.kind, contentType: plan.contentType}
	switch {
	case plan.kind == noPayload:
		return p
	case plan.template != nil:
		raw, ok := plan.template.expand(args)
		if !ok {
			return payload{}
		}
		plan.setWhole(&p, raw, m, "")
	case plan.whole != "":
		raw, ok := args[plan.whole]
		if !ok {
			return payload{}
		}
		plan.setWhole(&p, raw, m, schemagate.Member("", plan.whole))
	case plan.kind == jsonPayload:
		p.raw = plan.object(args)
	default:
		for _, param := range plan.members {
			if raw, ok := args[param.Argument]; ok {
				pairs, problem := param.formPairs(raw)
				m.add(problem)
				p.fields = append(p.fields, pairs...)
			}
		}
	}
	return p
}

// object returns the JSON object of the parameters in the body.
func (plan *bodyPlan) object(args arguments) []byte {
	object := []byte{'{'}
	for _, param := range plan.members {
		raw, ok := args[param.Argument]
		if !ok {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = canonjson.AppendString(object, param.Name)
		object = append(append(object, ':'), raw...)
	}
	return append(object, '}')
}

// setWhole makes one JSON value the body.
func (plan *bodyPlan) setWhole(p *payload, raw []byte, m *mistakes, path string) {
	switch plan.kind {
	case jsonPayload:
		p.raw = raw
	case textPayload:
		if raw[0] != '"' {
			m.add(&registry.Problem{Path: path, Want: "a string", Got: kindOf(raw)})
			return
		}
		p.raw = []byte(textOf(raw))
	default:
		if raw[0] != '{' {
			m.add(&registry.Problem{Path: path, Want: "an object", Got: kindOf(raw)})
			return
		}
		for key, value := range jsonscan.Fields(raw) {
			if len(p.fields) > maxItems || m.full() {
				m.add(&registry.Problem{Path: path, Want: fmt.Sprintf("of at most %d fields", maxItems), Got: "of more"})
				return
			}
			if checkName(string(key)) != "" {
				m.add(&registry.Problem{Path: schemagate.Member(path, string(key)), Want: "a member with a name that a form can have", Got: "another"})
				continue
			}
			param := parameter{Param: Param{Name: string(key), Argument: string(key)}, explode: true}
			pairs, problem := param.formPairs(value)
			m.add(problem)
			p.fields = append(p.fields, pairs...)
		}
	}
}
