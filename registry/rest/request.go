package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
)

// A request is what a call of an endpoint becomes, all but the login.
type request struct {
	endpoint string        // name of the tool, for errors
	method   string        // as it is sent
	path     string        // escaped; begins with "/" or is empty; follows the path of the base URL
	query    []pair        // in order, escaped
	header   http.Header   // checked
	body     payload       // encoded
	timeout  time.Duration // of the whole call, a second attempt included
	maxBytes int           // of the answer's body, decoded
	// safe says that the request changes nothing and that no value in its path
	// could be read as more than one segment: it may follow a redirect within the
	// origin.
	safe bool
}

// A payload is the body of a request; the zero value is none.
type payload struct{ text, contentType string }

// A pair is a name with a value.
type pair struct{ name, value string }

// join returns what a query or a form has of pairs that are escaped.
func join(pairs []pair) string {
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = p.name + "=" + p.value
	}
	return strings.Join(parts, "&")
}

// escape escapes all but the unreserved characters (RFC 3986, section 2.3), so that
// text means nothing but itself wherever in a URL or a form it stands.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// build makes the request of a call. The error is a [*registry.ArgumentsError].
func (o *operation) build(raw json.RawMessage) (*request, error) {
	var m mistakes
	args := o.read(raw, &m)
	req := &request{
		endpoint: o.Name,
		method:   o.Method,
		header:   http.Header{},
		timeout:  time.Duration(o.TimeoutSeconds) * time.Second,
		maxBytes: cmp.Or(o.MaxBytes, callBytes),
		safe:     o.Method == http.MethodGet,
	}
	if o.accept {
		req.header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.8")
	}
	inPath := map[string]string{}
	for i := range o.Params {
		p := &o.Params[i]
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
			pairs, problem := p.pairs(value, escape)
			m.add(problem)
			req.query = append(req.query, pairs...)
		case InHeader:
			text, ok, problem := p.headerValue(value)
			m.add(problem)
			if ok && problem == nil {
				req.header.Set(p.Name, text)
			}
		}
	}
	req.body = o.buildBody(args, &m)
	if m.list == nil {
		o.finish(req, inPath, &m)
	}
	if err := m.err(o.Name); err != nil {
		return nil, err
	}
	return req, nil
}

// finish puts the path together and holds the request to the limits.
func (o *operation) finish(req *request, inPath map[string]string, m *mistakes) {
	path, at := o.template.expand(inPath)
	for _, p := range o.Params {
		if at != "" && p.In == InPath && p.Name == at {
			m.add(&registry.Problem{
				Path: p.path(), Want: "a value that stays in its place in the path", Got: "one that leads out of it",
				Hint: `parts such as "." and ".." cannot be sent`,
			})
		}
	}
	req.path = path
	if len(path)+len(join(req.query)) > maxTarget {
		m.add(&registry.Problem{Want: fmt.Sprintf("at most %d bytes long in path and query", maxTarget), Got: "more"})
	}
	if len(req.body.text) > maxBody {
		m.add(&registry.Problem{Want: fmt.Sprintf("at most %d bytes long in the body", maxBody), Got: "more"})
	}
}
