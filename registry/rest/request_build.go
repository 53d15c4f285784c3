package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// build makes the request of a call. The error is a [*registry.ArgumentsError].
func (o *operation) build(raw json.RawMessage) (*request, error) {
	var m mistakes
	args := o.read(raw, &m)
	req := &request{
		endpoint: o.name,
		method:   o.method,
		header:   http.Header{},
		timeout:  cmp.Or(time.Duration(o.endpoint.Timeout), callTimeout),
		maxBytes: cmp.Or(o.endpoint.MaxBytes, callBytes),
		safe:     safeMethod(o.method),
	}
	if o.accept {
		req.header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.8")
	}
	inPath := map[string]string{}
	for _, p := range o.params {
		value, ok := args[p.Argument]
		if !ok {
			continue
		}
		switch p.In {
		case InPath:
			text, problem := p.pathValue(value)
			m.add(problem)
			inPath[p.Name] = text
			req.safe = req.safe && !ambiguous(text)
		case InQuery:
			pairs, problem := p.queryPairs(value)
			m.add(problem)
			req.query = append(req.query, pairs...)
		case InHeader:
			text, ok, problem := p.headerValue(value)
			m.add(problem)
			if ok && problem == nil {
				req.header.Set(p.Name, text)
			}
		case InCookie:
			pairs, problem := p.cookiePairs(value)
			m.add(problem)
			req.cookies = append(req.cookies, pairs...)
		}
	}
	req.body = o.body.build(args, &m)
	if m.list == nil {
		o.finish(req, inPath, &m)
	}
	if err := m.err(o.name); err != nil {
		return nil, err
	}
	return req, nil
}

// finish puts the path together and holds the request to the limits.
func (o *operation) finish(req *request, inPath map[string]string, m *mistakes) {
	path, at := o.template.expand(inPath)
	if at != "" {
		for _, p := range o.params {
			if p.In == InPath && p.Name == at {
				m.add(&registry.Problem{
					Path: p.path(), Want: "a value that stays in its place in the path", Got: "one that leads out of it",
					Hint: `parts such as "." and ".." cannot be sent`,
				})
			}
		}
		return
	}
	req.path = path
	if len(path)+len(req.rawQuery()) > maxTarget {
		m.add(&registry.Problem{Want: fmt.Sprintf("at most %d bytes long in path and query", maxTarget), Got: "more"})
	}
	if len(req.cookieHeader()) > maxHeader {
		m.add(&registry.Problem{Want: fmt.Sprintf("at most %d bytes long in cookies", maxHeader), Got: "more"})
	}
	if req.body.size() > maxBody {
		m.add(&registry.Problem{Want: fmt.Sprintf("at most %d bytes long in the body", maxBody), Got: "more"})
	}
	if o.keyName == "" || req.body.kind == noPayload {
		return
	}
	where := ""
	if o.body.whole != "" {
		where = schemagate.Member("", o.body.whole)
	}
	if !req.body.takesFields() {
		m.add(&registry.Problem{Path: where, Want: "an object", Got: "another value", Hint: "the login becomes a member of it"})
	} else if req.body.has(o.keyName) {
		m.add(&registry.Problem{Path: schemagate.Member(where, o.keyName), Got: "a member", Hint: "the login has that name"})
	}
}
