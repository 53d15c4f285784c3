package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Options are the options of a [Service]. Nil and the zero value mean the defaults.
type Options struct {
	// Secrets gives the secret that ${NAME} stands for. It is called when a request
	// is made, and its context is that of the call: the user is in it. Nil: the
	// environment of the program.
	//
	// It has to end with its context, and returns [ErrNotSet] for a name that it does
	// not know. An API of another author may refer to any name: give it a function
	// that knows none but what is meant for it.
	Secrets func(ctx context.Context, name string) (string, error)
	// Network says which addresses may be spoken to.
	Network Network
}

// A Service is an [API] in use. Make one with [New]. All methods are safe for
// concurrent use.
type Service struct {
	api     *API // a copy
	opts    Options
	ops     []*operation
	base    target
	headers []string // names of those of all requests, sorted
	login   login
	do      func(context.Context, *guardhttp.Request) (*guardhttp.Answer, error)
	guard   *guardhttp.Client
	tokens  tokens
	closed  atomic.Bool
}

// New makes a Service of an API, of which it keeps a copy. Nothing is sent and no
// secret is asked for. The error is an [*APIError], which names all that is wrong in
// the description.
func New(api *API, opts *Options) (*Service, error) {
	if api == nil {
		return nil, &APIError{Problems: []Problem{{Field: "API", Text: "is nil"}}}
	}
	s := &Service{api: cloneAPI(api), opts: *cmp.Or(opts, new(Options))}
	if s.opts.Secrets == nil {
		s.opts.Secrets = environment
	}
	var found problems
	api = s.api
	if err := toolname.Check(api.Name); err != nil {
		found.add("name", err.Error())
	}
	if len(api.Endpoints) > maxEndpoints {
		found.add("endpoints", fmt.Sprintf("are %d, at most %d are allowed", len(api.Endpoints), maxEndpoints))
		return nil, &APIError{api.Name, found.list}
	}
	s.connect(&found)
	names := map[string]bool{}
	for i := range api.Endpoints {
		ep := &api.Endpoints[i]
		if found.endpoint = ep.Name; ep.Name == "" {
			found.endpoint = place("endpoints", i)
		}
		if names[ep.Name] && ep.Name != "" {
			found.add("name", "is that of another endpoint, too")
		}
		names[ep.Name] = true
		s.ops = append(s.ops, s.compileEndpoint(ep, &found))
	}
	if len(found.list) > 0 {
		return nil, &APIError{api.Name, found.list[:min(len(found.list), maxProblems)]}
	}
	return s, nil
}

func cloneAPI(api *API) *API {
	c := *api
	c.Headers = maps.Clone(c.Headers)
	if c.Auth.Token = clone(c.Auth.Token); c.Auth.Token != nil {
		c.Auth.Token.Fields = maps.Clone(c.Auth.Token.Fields)
		c.Auth.Token.Rejected = slices.Clone(c.Auth.Token.Rejected)
	}
	c.Endpoints = nil
	for i := range api.Endpoints {
		c.Endpoints = append(c.Endpoints, cloneEndpoint(&api.Endpoints[i]))
	}
	return &c
}

// Tools returns the tools that are enabled, in the order of the endpoints. A tool that is called
// although it has been switched off since fails with an [*approval.DeniedError].
func (s *Service) Tools() []registry.Tool {
	tools := make([]registry.Tool, 0, len(s.ops))
	for _, o := range s.ops {
		if o.on.Load() {
			tools = append(tools, o)
		}
	}
	return tools
}

// SetEnabled switches a tool on or off, by the name of its endpoint. Calls under way
// go on. A registry lists it or not from the next [Service.Publish] on. It fails
// if there is no such endpoint.
func (s *Service) SetEnabled(tool string, on bool) error {
	for _, o := range s.ops {
		if o.Name == tool {
			o.on.Store(on)
			return nil
		}
	}
	return &callError{s.api.Name, tool, errors.New("there is no such endpoint"), mcp.NotSent}
}

// Server returns what the owner of a registry knows of the service. Its fingerprint
// is of the description, without secrets: of the base URL, of the kind of login, and
// of what each tool sends where.
func (s *Service) Server() registry.Server {
	return registry.Server{Name: s.api.Name, Trusted: s.api.Trusted, Fingerprint: s.fingerprint()}
}

// Publish makes the enabled tools all the tools that a registry has of the service.
// The errors are those of [registry.Registry.Replace].
func (s *Service) Publish(r *registry.Registry) (registry.Diff, error) {
	if r == nil {
		return registry.Diff{}, errors.New("rest: the registry is nil")
	}
	return r.Replace(s.Server(), s.Tools())
}

// fingerprint identifies where the requests of the service lead, and what they carry
// where. A registry compares it with the one that was approved: a tool that looks as
// it did, but does something else, is another one.
func (s *Service) fingerprint() string {
	about := cloneAPI(s.api)
	about.HealthPath, about.Trusted = "", false
	about.eachText(func(at, text string) string {
		if at == "baseUrl" || at == "auth.token.url" {
			return text
		}
		return strings.Join(secretsIn(text), " ")
	})
	for i := range about.Endpoints {
		e := &about.Endpoints[i]
		*e = Endpoint{Name: e.Name, Method: e.Method, Path: e.Path, Params: e.Params, Body: e.Body}
		for j, p := range e.Params {
			e.Params[j] = Param{Name: p.Name, Argument: p.Argument, In: p.In, Style: p.Style, Explode: new(p.exploded())}
		}
		if e.Body != nil {
			e.Body = &Body{ContentType: e.Body.ContentType, Argument: e.Body.Argument}
		}
	}
	data, _ := json.Marshal(about) // what was checked can be written
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
