package authtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

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
	// ToolScopes are the scopes that calls of tools need, by the names of the tools; without
	// them a call is refused with 403 and insufficient_scope.
	ToolScopes map[string][]string

	// DPoPRequired takes only tokens that are bound to a key (RFC 9449).
	DPoPRequired bool

	// Others are further authorization servers whose tokens are taken. Its
	// metadata lists them behind the one that protects it.
	Others []*Server
}

// A Resource lets requests through to a handler if they have a token of its
// authorization server that was issued for it. Its methods are safe for concurrent
// use.
type Resource struct {
	// URL is its address, and its resource identifier.
	URL string

	site
	server  *Server
	options ResourceOptions
	origin  string
	handler http.Handler
}

// Protect puts a resource in front of a handler. Options may be nil. It ends with
// the server. The handler finds the user and the client of a request in its header
// fields Authtest-User and Authtest-Client, and the granted scopes in Authtest-Scope.
func (s *Server) Protect(h http.Handler, o *ResourceOptions) *Resource {
	r := &Resource{server: s, options: *cmp.Or(o, new(ResourceOptions)), handler: h}
	r.options.Path = cmp.Or(r.options.Path, "/mcp")
	r.listen(&s.options, r.serve, func(origin string) {
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
	return "/.well-known/oauth-protected-resource" + strings.TrimSuffix(p.options.Path, "/")
}

// serve answers a request to the resource's origin.
func (p *Resource) serve(w http.ResponseWriter, r *http.Request) {
	var e Endpoint
	switch r.URL.Path {
	case p.options.Path:
		e = ResourceEndpoint
	case p.metadataPath():
		e = MetadataEndpoint
	}
	p.site.serve(e, w, r, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		switch e {
		case ResourceEndpoint:
			p.guard(w, r, body, n)
		case MetadataEndpoint:
			p.answered(n, http.StatusOK)
			writeJSON(w, http.StatusOK, p.metadata())
		default:
			p.answered(n, http.StatusNotFound)
			http.NotFound(w, r)
		}
	})
}

func (p *Resource) metadata() map[string]any {
	issuers := []string{p.server.Issuer}
	for _, s := range p.options.Others {
		issuers = append(issuers, s.Issuer)
	}
	document := map[string]any{
		"resource":                 p.URL,
		"authorization_servers":    issuers,
		"bearer_methods_supported": []string{"header"},
	}
	if p.options.Scopes != nil {
		document["scopes_supported"] = p.options.Scopes
	}
	if p.options.DPoPRequired {
		document["dpop_bound_access_tokens_required"] = true
	}
	if p.options.DPoPRequired || p.server.options.DPoP {
		document["dpop_signing_alg_values_supported"] = algorithms()
	}
	if p.options.Metadata != nil {
		p.options.Metadata(document)
	}
	return document
}

// guard lets a request in, or refuses it.
func (p *Resource) guard(w http.ResponseWriter, r *http.Request, body []byte, n int) {
	p.offerNonce(w)
	token, e := p.check(r, body)
	if e == nil && p.options.ToolScopes != nil {
		var call struct {
			Method string `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		_ = json.Unmarshal(body, &call) // what is none is no call
		needed := p.options.ToolScopes[call.Params.Name]
		if call.Method == "tools/call" && slices.ContainsFunc(needed, func(scope string) bool { return !slices.Contains(token.scopes, scope) }) {
			e = &challenge{status: http.StatusForbidden, code: "insufficient_scope", scopes: needed}
		}
	}
	if e != nil {
		p.answered(n, e.status)
		p.refuse(w, e)
		return
	}
	p.answered(n, http.StatusOK)
	r.Header.Set(userHeader, token.family.User)
	r.Header.Set(clientHeader, token.family.ClientID)
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
		if t == nil || t.family.Resource != p.URL && (t.family.Resource != "" || !s.options.ResourceOptional) {
			continue
		}
		switch bound := t.family.thumb != ""; {
		case bound && strings.EqualFold(scheme, "DPoP"):
			return t, p.possesses(r, text, t, body)
		case !bound && strings.EqualFold(scheme, "Bearer") && !p.options.DPoPRequired:
			return t, nil
		}
		return nil, invalid
	}
	return nil, invalid
}

func (p *Resource) refuse(w http.ResponseWriter, c *challenge) {
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
	if !c.possession && !p.options.DPoPRequired {
		if len(params) == 0 {
			params = []string{`realm="authtest"`}
		}
		w.Header().Add("WWW-Authenticate", "Bearer "+strings.Join(params, ", "))
	}
	if p.options.DPoPRequired || p.server.options.DPoP {
		params = append([]string{fmt.Sprintf("algs=%q", strings.Join(algorithms(), " "))}, params...)
		w.Header().Add("WWW-Authenticate", "DPoP "+strings.Join(params, ", "))
	}
	w.WriteHeader(c.status)
}
