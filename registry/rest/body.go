package rest

import (
	"crypto/sha256"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A bodyKind is the form of a body.
type bodyKind int

const (
	noBody bodyKind = iota
	jsonBody
	formBody
	multipartBody
	textBody
)

const formType = "application/x-www-form-urlencoded"

// A bodyPlan says how the body of a request is made.
type bodyPlan struct {
	kind        bodyKind
	contentType string       // empty for multipart, which gets one with its boundary
	whole       string       // the argument that is the body; empty: there is none
	members     []*parameter // otherwise
	required    bool
}

// kindOfBody returns the form of a body and its Content-Type.
func kindOfBody(contentType string) (kind bodyKind, header string, problem string) {
	if contentType == "" {
		return jsonBody, "application/json", ""
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || strings.Count(media, "/") != 1 || !httpfield.ValidValue(contentType) {
		return noBody, "", "is no media type such as application/json"
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return noBody, "", "asks for a charset other than utf-8, which is what is sent"
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return jsonBody, contentType, ""
	case media == formType:
		return formBody, contentType, ""
	case media == "multipart/form-data":
		return multipartBody, "", ""
	case strings.HasPrefix(media, "multipart/"):
		return noBody, "", "is a multipart type other than multipart/form-data"
	}
	return textBody, contentType, ""
}

// compileBody checks the body of an endpoint. Params are its parameters.
func compileBody(ep *Endpoint, params []*parameter, kind bodyKind, header string, found *problems) bodyPlan {
	var plan bodyPlan
	for i, p := range params {
		if p.In == InBody {
			plan.members = append(plan.members, p)
			if kind == textBody {
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
	if ep.Method == "" || ep.Method == "GET" {
		found.add("method", "is GET, whose requests have no body (RFC 9110, section 9.3.1); use POST, or put the parameters in the query")
	}
	switch {
	case body.Argument != "":
		if len(plan.members) > 0 {
			found.add("body.argument", "is the whole body, but there are parameters in the body, too")
		}
		if problem := checkName(body.Argument); problem != "" {
			found.add("body.argument", problem)
		}
		plan.whole = body.Argument
	case body.Schema != nil:
		found.add("body.schema", "is that of body.argument, which is missing")
	case kind == textBody:
		found.add("body.argument", "is missing: a body of this content type is one argument")
	}
	return plan
}

// build makes the body of a call.
func (plan *bodyPlan) build(args arguments, m *mistakes) payload {
	if plan.kind == noBody {
		return payload{}
	}
	raw, ok := args[plan.whole]
	at := schemagate.Member("", plan.whole)
	switch {
	case plan.whole != "" && !ok:
		return payload{}
	case plan.whole == "" && plan.kind == jsonBody:
		return payload{string(plan.object(args)), plan.contentType}
	case plan.kind == jsonBody:
		return payload{string(raw), plan.contentType}
	case plan.kind == textBody:
		if raw[0] != '"' {
			m.add(&registry.Problem{Path: at, Want: "a string", Got: kindOf(raw)})
			return payload{}
		}
		return payload{textOf(raw), plan.contentType}
	}
	var fields []pair
	add := func(p *parameter, value []byte) {
		pairs, problem := p.pairs(value, nil)
		m.add(problem)
		fields = append(fields, pairs...)
	}
	if plan.whole == "" {
		for _, param := range plan.members {
			if raw, ok := args[param.Argument]; ok {
				add(param, raw)
			}
		}
		return plan.encode(fields)
	}
	if raw[0] != '{' {
		m.add(&registry.Problem{Path: at, Want: "an object", Got: kindOf(raw)})
		return payload{}
	}
	for key, value := range jsonscan.Fields(raw) {
		switch {
		case len(fields) > maxItems || m.full():
			m.add(&registry.Problem{Path: at, Want: fmt.Sprintf("of at most %d fields", maxItems), Got: "of more"})
			return payload{}
		case checkName(string(key)) != "":
			m.add(&registry.Problem{Path: schemagate.Member(at, string(key)), Want: "a member with a name that a form can have", Got: "another"})
		default:
			add(&parameter{Param: Param{Name: string(key), Argument: string(key), In: InBody}, explode: true}, value)
		}
	}
	return plan.encode(fields)
}

// object returns the JSON object of the parameters in the body.
func (plan *bodyPlan) object(args arguments) []byte {
	var whole object
	for _, param := range plan.members {
		if raw, ok := args[param.Argument]; ok {
			whole.add(param.Name, raw)
		}
	}
	return whole.text()
}

// encode writes a form. One form is always written in the same way.
func (plan *bodyPlan) encode(fields []pair) payload {
	escaped := make([]pair, len(fields))
	for i, f := range fields {
		escaped[i] = pair{escape(f.name), escape(f.value)}
	}
	whole := join(escaped)
	if plan.kind == formBody {
		return payload{whole, plan.contentType}
	}
	var text strings.Builder // writing to it never fails
	w := multipart.NewWriter(&text)
	_ = w.SetBoundary(fmt.Sprintf("%x", sha256.Sum256([]byte(whole)))) // no field can hold the hash of all fields
	for _, f := range fields {
		// As browsers do (HTML, multipart/form-data encoding algorithm).
		name := strings.NewReplacer("\n", "%0A", "\r", "%0D", `"`, "%22").Replace(f.name)
		part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name + `"`}})
		_, _ = part.Write([]byte(f.value))
	}
	_ = w.Close()
	return payload{text.String(), w.FormDataContentType()}
}
