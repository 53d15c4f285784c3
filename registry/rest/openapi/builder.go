package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// A builder makes one endpoint.
type builder struct {
	*document
	op        *operation
	endpoint  *rest.Endpoint
	places    []*node // of the parameters
	arguments names
	defs      []*def
	used      map[*def]bool
	size      int       // bytes of schemas
	notes     []Problem // told only if the operation is taken over
}

func (b *builder) note(at *node, what string, reason string) {
	b.notes = append(b.notes, newProblem(b.op, at, what, reason))
}

// add adds a parameter under an argument that no other has.
func (b *builder) add(p rest.Param, at *node, defs []*def) {
	name := cmp.Or(nameOf(p.Name, maxName), "argument")
	if name = b.arguments.take(name); name != p.Name {
		p.Argument = name
	}
	b.use(p.Schema, defs)
	b.places = append(b.places, at)
	b.endpoint.Params = append(b.endpoint.Params, p)
}

// use counts a schema, and keeps what it refers to for the endpoint.
func (b *builder) use(schema []byte, defs []*def) {
	b.size += len(schema)
	for _, one := range defs {
		if b.used[one] {
			continue
		}
		if b.used == nil {
			b.used = map[*def]bool{}
		}
		b.used[one] = true
		b.size += len(one.raw) + len(one.name)
		b.defs = append(b.defs, one)
	}
}

// finish names the endpoint, and asks package rest about it.
func (b *builder) finish(api *rest.API) *loss {
	if b.size > schemagate.MaxBytes {
		return lost(b.op.at, fmt.Sprintf("its schemas are longer than %d bytes, with what they refer to", schemagate.MaxBytes))
	}
	if b.size+b.written > maxWrittenSchemas {
		return lost(b.op.at, fmt.Sprintf("the schemas of all endpoints are longer than %d bytes: take fewer by Options.Include", maxWrittenSchemas))
	}
	b.document.written += b.size
	if len(b.defs) > 0 {
		b.endpoint.Defs = appendDefs(nil, b.defs)
	}
	name := cmp.Or(nameOf(b.op.ID, maxName), nameOf(strings.ToLower(b.op.Method)+b.op.Path, maxName))
	b.endpoint.Name = b.names.take(name)
	for {
		if l := b.look(b.op.at, b.size); l != nil {
			return l
		}
		refused := acceptable(api, b.endpoint)
		if len(refused) == 0 {
			return nil
		}
		if at, reason := b.drop(refused); reason != "" {
			return lost(at, reason)
		}
	}
}

// drop leaves the parameters out that package rest refuses, and reports what else it
// refuses.
func (b *builder) drop(refused []rest.Problem) (*node, string) {
	reasons := map[int]string{}
	for _, p := range refused {
		var i int
		if n, _ := fmt.Sscanf(p.Field, "params[%d]", &i); n == 0 || i >= len(b.places) {
			return b.op.at, plain.Line(p.Field + " " + p.Text)
		}
		reason := plain.Line(p.Text)
		if param := b.endpoint.Params[i]; param.Required || param.In == rest.InPath {
			return b.places[i], reason
		}
		reasons[i] = reason
	}
	params, places := b.endpoint.Params, b.places
	b.endpoint.Params, b.places = nil, nil
	for i, p := range params {
		if reason, gone := reasons[i]; gone {
			b.note(places[i], "parameter", reason)
			continue
		}
		b.endpoint.Params, b.places = append(b.endpoint.Params, p), append(b.places, places[i])
	}
	return nil, ""
}

// refusedAPI returns what package rest has against an API without endpoints.
func refusedAPI(api *rest.API) string {
	for _, p := range refusals(api) {
		return plain.Line(p.String())
	}
	return ""
}

func refusals(api *rest.API) []rest.Problem {
	_, err := rest.New(api, nil)
	if refused, ok := errors.AsType[*rest.APIError](err); ok {
		return refused.Problems
	}
	return nil
}

// acceptable returns what package rest has against an endpoint, since it is the one to
// decide. A fault of the API itself is no fault of the endpoint.
func acceptable(api *rest.API, e *rest.Endpoint) []rest.Problem {
	one := *api
	one.Endpoints = []rest.Endpoint{*e}
	one.BaseURL = cmp.Or(one.BaseURL, "https://api.example")
	return slices.DeleteFunc(refusals(&one), func(p rest.Problem) bool { return p.Endpoint != e.Name })
}
