package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/session"
)

// admin is the handler.
type admin struct {
	opts    Options
	manager *manage.Manager
	host    *host.Host
	mux     *http.ServeMux
	bridge  http.Handler // of apps of tools; nil: none is shown

	redactor  *redact.Redactor // of what is logged
	questions sync.Map         // by their IDs: what servers of tools that are tried ask, a *question
	accepted  sync.Map         // by the name of a server that was changed: the entry that the ledger has accepted, by its keys
}

// A route is one way to use the API. The mux is made of the routes.
type route struct {
	method, path string
	role         Role   // that it takes in any case
	summary      string // what it does, for people
	params       []param
	in           reflect.Type // of the body; nil: none
	optional     bool         // the body may be missing
	out          reflect.Type // of what is answered
	needs        string       // what of Options it takes; empty: nothing

	serve  func(*request) (any, error)
	stream func(*request, http.ResponseWriter) error // in place of serve, for answers that do not end
}

// A param is a parameter in the query of a route.
type param struct{ name, kind, about string }

// on returns a route without a body.
func on[Out any](method, path string, role Role, summary string, serve func(*request) (Out, error), params ...param) *route {
	return &route{
		method: method, path: path, role: role, summary: summary, params: params, out: reflect.TypeFor[Out](),
		serve: func(q *request) (any, error) { return serve(q) },
	}
}

// with returns a route whose body is a value of In, in JSON.
func with[In, Out any](method, path string, role Role, summary string, serve func(*request, *In) (Out, error), params ...param) *route {
	r := on(method, path, role, summary, func(q *request) (out Out, err error) {
		in := new(In)
		if len(q.data) > 0 || !q.route.optional {
			err = q.decode(in)
		}
		if err == nil {
			out, err = serve(q, in)
		}
		return out, err
	}, params...)
	r.in = reflect.TypeFor[In]()
	return r
}

// of returns the route as one of a part that a program may leave out.
func (r *route) of(part string) *route {
	r.needs = part
	return r
}

// routes returns all routes.
func (a *admin) routes() []*route {
	return slices.Concat(serverRoutes(), recordRoutes(), boardRoutes(), toolRoutes(), reviewRoutes(), loginRoutes(), watchRoutes())
}

// A person makes requests.
type person struct {
	caller *access.Caller
	roles  []Role
}

type personKey struct{}

func withCaller(ctx context.Context, p *person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

func callerOf(ctx context.Context) *person { return ctx.Value(personKey{}).(*person) }

// A request is one of a person.
type request struct {
	*admin
	*http.Request
	*person
	route *route
	data  []byte // the body
}

// forOthers returns the context of what the caller does on behalf of others.
func (q *request) forOthers() context.Context { return events.Note(q.Context(), "by", q.by()) }

// forUser returns the context of what is done on behalf of the caller.
func (q *request) forUser() context.Context {
	if q.caller.User == "" {
		return q.forOthers()
	}
	return session.WithUser(q.forOthers(), q.caller.User)
}

// decode reads the body. It has nothing of the body in its error.
func (q *request) decode(v any) error {
	bad := &failure{status: http.StatusBadRequest, code: string(record.CodeValueInvalid), detail: "the body is not JSON of the form that is wanted here"}
	if jsonscan.Valid(q.data) != nil || !bytes.HasPrefix(bytes.TrimSpace(q.data), []byte("{")) {
		return bad
	}
	known := reflect.TypeOf(v).Elem()
	for name := range jsonscan.Fields(q.data) {
		if !hasField(known, string(name)) {
			bad.detail = "the body has the field " + plain.Quote(string(name)) + ", which is unknown here"
			return bad
		}
	}
	d := json.NewDecoder(bytes.NewReader(q.data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		bad.detail = "the field " + wrong.Field + " of the body is not of its form: openapi.json says which that is"
	}
	if err != nil {
		return bad
	}
	return nil
}

// hasField reports whether a struct has a field for a name in JSON, in any case of letters, as package json reads it.
func hasField(t reflect.Type, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return f.IsExported() && strings.EqualFold(cmp.Or(tag, f.Name), name)
	})
}

// need fails unless the caller has a role.
func (q *request) need(r Role) error {
	if slices.Contains(q.roles, r) {
		return nil
	}
	return forbidden(r)
}

// mayStart fails if the caller may not start processes, and a change of the server of a name could start one: a record or a
// server of the name is local. Without a name all servers count, as for a tool of the program, which may call others.
func (q *request) mayStart(name string) error {
	refused := q.need(StdioWrite)
	if refused == nil {
		return nil
	}
	concerns := func(other string) bool { return name == "" || name == other }
	servers, err := q.manager.Servers(q.Context())
	if err != nil {
		return err
	}
	for _, s := range servers {
		if concerns(s.Record.Name) && isLocal(s.Record) {
			return refused
		}
	}
	for _, s := range q.host.Servers() {
		if concerns(s.Name) && !isRemote(s.Transport) {
			return refused
		}
	}
	return nil
}

// isLocal reports whether the server of a record is a process.
func isLocal(r *config.Server) bool { return r.Command != "" || !isRemote(r.Kind()) }

func isRemote(transport string) bool {
	return slices.Contains([]string{config.TransportHTTP, config.TransportSSE, config.TransportAuto, config.TransportUnix}, transport)
}
