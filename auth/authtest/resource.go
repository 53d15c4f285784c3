package authtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

const wellKnownResource = "/.well-known/oauth-protected-resource"

// ResourceOptions say how a [Resource] is protected. The zero value is a resource
// with metadata for its path that lets in everybody with a token for it.
type ResourceOptions struct {
	// Path is the path of its address. Default: "/mcp".
	Path string
	// NoMetadata leaves out its metadata.
	NoMetadata bool
	// Metadata may alter the metadata before it is sent. It is called for each
	// request, and must be safe for concurrent use.
	Metadata func(document map[string]any)

	// Scopes are the scopes that its metadata lists. Default: no list.
	Scopes []string
	// ChallengeScopes are the scopes that the challenge of a 401 names.
	ChallengeScopes []string
	// Require returns the scopes that a request needs; without them it is
	// refused with 403 and insufficient_scope. The body of the request can be
	// read. It must be safe for concurrent use. See [ToolScopes].
	Require func(r *http.Request) []string

	// DPoPRequired takes only tokens that are bound to a key (RFC 9449).
	DPoPRequired bool
	// DPoPNonce makes proofs need a nonce.
	DPoPNonce bool

	// Others are further authorization servers whose tokens are taken. Its
	// metadata lists them behind the one that protects it.
	Others []*Server
	// Tamper is called before a request is dealt with, be it for the resource or
	// for its metadata. If it returns true it has answered itself. The body of r
	// can be read. It must be safe for concurrent use.
	Tamper func(w http.ResponseWriter, r *http.Request) bool
}

// A Resource lets requests through to a handler if they have a token of its
// authorization server that was issued for it. Its methods are safe for concurrent
// use.
type Resource struct {
	// URL is its address, and its resource identifier.
	URL string

	server  *Server
	options ResourceOptions
	origin  string
	handler http.Handler
	http    *httptest.Server
	records records
	faults  faults
	nonces  nonces
}

// Protect puts a resource in front of a handler. Options may be nil. It ends with
// the server. The handler finds the user and the client of a request in its header
// fields Authtest-User and Authtest-Client, and the granted scopes in Authtest-Scope.
func (s *Server) Protect(h http.Handler, o *ResourceOptions) *Resource {
	if o == nil {
		o = &ResourceOptions{}
	}
	r := &Resource{server: s, options: *o, handler: h}
	r.options.Others = slices.Clone(o.Others)
	if o.Path == "" {
		r.options.Path = "/mcp"
	}
	r.nonces = newNonces(o.DPoPNonce)
	r.records.off = s.options.NoRecord
	r.http = listen(r.serve, s.options.TLS, func(origin string) {
		r.origin, r.URL = origin, origin+r.options.Path
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources = append(s.resources, r)
	return r
}

// metadataPath returns where its metadata is; empty if it has none.
func (p *Resource) metadataPath() string {
	if p.options.NoMetadata {
		return ""
	}
	return wellKnownResource + strings.TrimSuffix(p.options.Path, "/")
}

// Requests returns what the resource has received, in order. The maps in it must
// not be written.
func (p *Resource) Requests() []Request { return p.records.all() }

// Count returns the number of requests that have come to [ResourceEndpoint] or
// [ResourceMetadataEndpoint].
func (p *Resource) Count(e Endpoint) int { return p.records.count(e) }

// Await waits until n requests have come to an endpoint, since the beginning. It
// returns the error of ctx if that ends before.
func (p *Resource) Await(ctx context.Context, e Endpoint, n int) error {
	return p.records.await(ctx, e, n)
}

// Fail makes something go wrong with requests to the resource, as [Server.Fail]
// does.
func (p *Resource) Fail(e Endpoint, n int, f Fault) { p.faults.set(e, n, f) }

// serve answers a request to the resource's origin.
func (p *Resource) serve(w http.ResponseWriter, r *http.Request) {
	e := NoEndpoint
	switch r.URL.Path {
	case p.options.Path:
		e = ResourceEndpoint
	case p.metadataPath():
		e = ResourceMetadataEndpoint
	}
	body, err := readBody(w, r)
	if err != nil {
		http.Error(w, "request too large or broken", http.StatusBadRequest)
		return
	}
	n := p.records.add(e, r, body)
	if p.options.Tamper != nil && p.options.Tamper(w, r) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.faults.apply(e, w, r, func(w http.ResponseWriter, r *http.Request) {
		switch e {
		case ResourceEndpoint:
			p.guard(w, r, body, n)
		case ResourceMetadataEndpoint:
			p.records.answered(n, http.StatusOK)
			writeJSON(w, http.StatusOK, p.metadata())
		default:
			p.records.answered(n, http.StatusNotFound)
			http.NotFound(w, r)
		}
	})
}

func (p *Resource) metadata() map[string]any {
	document := map[string]any{
		"resource":                 p.URL,
		"authorization_servers":    p.issuers(),
		"bearer_methods_supported": []string{"header"},
	}
	if p.options.Scopes != nil {
		document["scopes_supported"] = p.options.Scopes
	}
	if p.options.DPoPRequired {
		document["dpop_bound_access_tokens_required"] = true
	}
	if p.options.DPoPRequired || p.server.options.DPoP != DPoPOff {
		document["dpop_signing_alg_values_supported"] = algorithms()
	}
	if p.options.Metadata != nil {
		p.options.Metadata(document)
	}
	return document
}

func (p *Resource) issuers() []string {
	issuers := []string{p.server.Issuer}
	for _, s := range p.options.Others {
		issuers = append(issuers, s.Issuer)
	}
	return issuers
}

// guard lets a request in, or refuses it.
func (p *Resource) guard(w http.ResponseWriter, r *http.Request, body []byte, n int) {
	p.nonces.offer(w)
	token, e := p.check(r, body)
	var needed []string
	if e == nil && p.options.Require != nil {
		needed = p.options.Require(r)
		r.Body = io.NopCloser(bytes.NewReader(body))
		for _, scope := range needed {
			if !slices.Contains(token.scopes, scope) {
				e = &challenge{status: http.StatusForbidden, code: "insufficient_scope", scopes: needed}
			}
		}
	}
	if e != nil {
		p.records.answered(n, e.status)
		p.refuse(w, e)
		return
	}
	p.records.answered(n, http.StatusOK)
	r.Header.Set(userHeader, token.family.user)
	r.Header.Set(clientHeader, token.family.client)
	r.Header.Set(scopeHeader, strings.Join(token.scopes, " "))
	p.handler.ServeHTTP(w, r)
}

// A challenge is why a request is not let in.
type challenge struct {
	status int
	code   string // empty if there was no token
	scopes []string
	// possession says that the token is good, but not the proof of its key.
	possession bool
}

// check returns the token of a request.
func (p *Resource) check(r *http.Request, body []byte) (*accessToken, *challenge) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme == "" {
		return nil, &challenge{status: http.StatusUnauthorized, scopes: p.options.ChallengeScopes}
	}
	invalid := &challenge{status: http.StatusUnauthorized, code: "invalid_token", scopes: p.options.ChallengeScopes}
	for _, s := range append([]*Server{p.server}, p.options.Others...) {
		t := s.good(text)
		if t == nil {
			continue
		}
		if t.family.resource == p.URL || t.family.resource == "" && s.options.Resource != ResourceRequired {
			switch bound := t.family.thumb != ""; {
			case !strings.EqualFold(scheme, schemeOf(bound)), p.options.DPoPRequired && !bound:
				return nil, invalid
			case bound:
				return t, p.possesses(r, text, t, body)
			}
			return t, nil
		}
	}
	return nil, invalid
}

func (p *Resource) refuse(w http.ResponseWriter, c *challenge) {
	params := p.params(c)
	if !c.possession && !p.options.DPoPRequired {
		if len(params) == 0 {
			params = []string{`realm="authtest"`}
		}
		w.Header().Add("WWW-Authenticate", "Bearer "+strings.Join(params, ", "))
	}
	if p.options.DPoPRequired || p.server.options.DPoP != DPoPOff {
		params = append([]string{fmt.Sprintf("algs=%q", strings.Join(algorithms(), " "))}, params...)
		w.Header().Add("WWW-Authenticate", "DPoP "+strings.Join(params, ", "))
	}
	w.WriteHeader(c.status)
}

func schemeOf(bound bool) string {
	if bound {
		return "DPoP"
	}
	return "Bearer"
}

// params returns the parameters of a challenge.
func (p *Resource) params(c *challenge) []string {
	var params []string
	if c.code != "" {
		params = append(params, fmt.Sprintf("error=%q", c.code))
	}
	if len(c.scopes) > 0 {
		params = append(params, fmt.Sprintf("scope=%q", strings.Join(c.scopes, " ")))
	}
	if path := p.metadataPath(); path != "" {
		params = append(params, fmt.Sprintf("resource_metadata=%q", p.origin+path))
	}
	return params
}

// ToolScopes is for ResourceOptions.Require: it returns the scopes of the tool
// that a request calls, and none for other requests.
func ToolScopes(tools map[string][]string) func(*http.Request) []string {
	return func(r *http.Request) []string {
		var call struct {
			Method string `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &call) != nil || call.Method != "tools/call" {
			return nil
		}
		return tools[call.Params.Name]
	}
}
