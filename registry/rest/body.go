package rest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"mime"
	"mime/multipart"
	"net/http"
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

// compileBody checks the body of an endpoint.
func (o *operation) compileBody(kind bodyKind, contentType string, found *problems) {
	var members bool
	for i, p := range o.Params {
		if p.In == InBody {
			members = true
			if kind == textBody {
				found.add(place("params", i)+".in", "is body, but a body of this content type has no members; use body.argument")
			}
		}
	}
	body := o.Body
	if body == nil {
		if !members {
			return
		}
		body = &Body{}
	}
	o.kind, o.contentType, o.whole = kind, contentType, body.Argument
	if o.Method == http.MethodGet {
		found.add("method", "is GET, whose requests have no body (RFC 9110, section 9.3.1); use POST, or put the parameters in the query")
	}
	switch {
	case body.Argument != "":
		if members {
			found.add("body.argument", "is the whole body, but there are parameters in the body, too")
		}
		if problem := checkName(body.Argument); problem != "" {
			found.add("body.argument", problem)
		}
	case body.Schema != nil:
		found.add("body.schema", "is that of body.argument, which is missing")
	case kind == textBody:
		found.add("body.argument", "is missing: a body of this content type is one argument")
	}
}

// buildBody makes the body of a call.
func (o *operation) buildBody(args arguments, m *mistakes) payload {
	if o.kind == noBody {
		return payload{}
	}
	raw, ok := args[o.whole]
	at := schemagate.Member("", o.whole)
	switch {
	case o.whole != "" && !ok:
		return payload{}
	case o.whole == "" && o.kind == jsonBody:
		var whole object
		for p, raw := range o.members(args) {
			whole.add(p.Name, raw)
		}
		return payload{string(whole.text()), o.contentType}
	case o.kind == jsonBody:
		return payload{string(raw), o.contentType}
	case o.kind == textBody:
		if raw[0] != '"' {
			m.add(&registry.Problem{Path: at, Want: "a string", Got: kindOf(raw)})
			return payload{}
		}
		return payload{textOf(raw), o.contentType}
	}
	var fields []pair
	add := func(p *Param, value []byte) {
		pairs, problem := p.pairs(value, nil)
		m.add(problem)
		fields = append(fields, pairs...)
	}
	if o.whole == "" {
		for p, raw := range o.members(args) {
			add(p, raw)
		}
		return o.encode(fields)
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
			add(&Param{Name: string(key), Argument: string(key), In: InBody}, value)
		}
	}
	return o.encode(fields)
}

// members yields the parameters in the body that a call has, with their arguments.
func (o *operation) members(args arguments) iter.Seq2[*Param, json.RawMessage] {
	return func(yield func(*Param, json.RawMessage) bool) {
		for i := range o.Params {
			p := &o.Params[i]
			if raw, ok := args[p.Argument]; ok && p.In == InBody && !yield(p, raw) {
				return
			}
		}
	}
}

// encode writes a form. One form is always written in the same way.
func (o *operation) encode(fields []pair) payload {
	escaped := make([]pair, len(fields))
	for i, f := range fields {
		escaped[i] = pair{escape(f.name), escape(f.value)}
	}
	whole := join(escaped)
	if o.kind == formBody {
		return payload{whole, o.contentType}
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
