package authtest

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Server is an authorization server on a loopback address. Its methods are safe
// for concurrent use.
type Server struct {
	// Issuer identifies the server. It is its address, too.
	Issuer string

	site
	options Options
	origin  string
	once    sync.Once
	key     *ecdsa.PrivateKey // signs what the server says of others

	mu        sync.Mutex // guards the following
	resources []*Resource
	clients   map[string]*client
	codes     map[string]*authorization
	devices   map[string]*device
	families  []*family
	access    map[string]*accessToken
	refresh   map[string]*refreshToken
	seen      map[string]bool // ids of JWTs that are good once
	revoked   int             // families, by reuse
	serial    int             // of registered clients
	granted   map[string]int  // token requests that succeeded, by grant type
}

// NewServer starts a server that is closed at the end of the test, with its
// resources. Options may be nil. It ends the test if they cannot be used.
func NewServer(t testing.TB, o *Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts a server outside of a test. The caller closes it. The error
// says which options cannot be used. As httptest, it panics if it cannot listen.
func New(o *Options) (*Server, error) {
	o = cmp.Or(o, new(Options))
	s := &Server{
		options: *o,
		clients: map[string]*client{},
		codes:   map[string]*authorization{},
		devices: map[string]*device{},
		seen:    map[string]bool{},
		access:  map[string]*accessToken{},
		refresh: map[string]*refreshToken{},
		granted: map[string]int{},
	}
	s.options.Clients = slices.Clone(o.Clients)
	s.options.Scopes = slices.Clone(o.Scopes)
	s.options.ResourceOptional = o.ResourceOptional || o.ResourceRefused
	s.options.TokenLifetime = cmp.Or(o.TokenLifetime, time.Hour)
	if p := o.Path; p != "" && (p[0] != '/' || strings.HasSuffix(p, "/")) {
		return nil, fmt.Errorf("authtest: Options.Path %q: it begins with a slash and does not end with one", p)
	}
	var err error
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("authtest: %w", err)
	}
	for _, c := range s.options.Clients {
		if err := s.add(c); err != nil {
			return nil, err
		}
	}
	s.listen(o, s.serve, func(origin string) { s.origin, s.Issuer = origin, origin+o.Path })
	return s, nil
}

// Close ends the server and its resources with all their connections.
func (s *Server) Close() {
	s.once.Do(func() {
		s.mu.Lock()
		resources := s.resources
		s.mu.Unlock()
		for _, r := range resources {
			r.close()
		}
		s.close()
	})
}

// Client returns a client that trusts the certificates of the server and of its
// resources. Its connections end with the server.
func (s *Server) Client() *http.Client { return s.http.Client() }

// URL returns the address of an endpoint.
func (s *Server) URL(e Endpoint) string {
	if e == MetadataEndpoint {
		return s.origin + s.metadataPath()
	}
	return s.Issuer + "/" + string(e)
}

// An Endpoint is one of the addresses of a [Server] or a [Resource]. Those of a
// Server, other than its metadata, are called like the last part of their path.
type Endpoint string

const (
	// MetadataEndpoint has the metadata of a Server or a Resource.
	MetadataEndpoint Endpoint = "metadata"
	// AuthorizationEndpoint is where users log in.
	AuthorizationEndpoint Endpoint = "authorize"
	// TokenEndpoint issues tokens.
	TokenEndpoint Endpoint = "token"
	// RegistrationEndpoint registers clients.
	RegistrationEndpoint Endpoint = "register"
	// RevocationEndpoint revokes tokens.
	RevocationEndpoint Endpoint = "revoke"
	// keysEndpoint has the public key that signs ID tokens.
	keysEndpoint Endpoint = "jwks"
	// DeviceEndpoint begins logins by device code.
	DeviceEndpoint Endpoint = "device_authorization"
	// ResourceEndpoint is the protected address of a Resource.
	ResourceEndpoint Endpoint = "resource"
)

// endpoint returns the endpoint that a path is of; empty: the server has none there.
func (s *Server) endpoint(path string) Endpoint {
	if path == s.metadataPath() {
		return MetadataEndpoint
	}
	rest, ok := strings.CutPrefix(path, s.options.Path+"/")
	if !ok {
		return ""
	}
	switch e := Endpoint(rest); e {
	case AuthorizationEndpoint, TokenEndpoint, RevocationEndpoint, keysEndpoint:
		return e
	case DeviceEndpoint:
		if s.options.Device != 0 {
			return e
		}
	case RegistrationEndpoint:
		if !s.options.NoRegistration {
			return e
		}
	}
	return ""
}

// serve answers a request to the server's origin.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	e := s.endpoint(r.URL.Path)
	s.site.serve(e, w, r, func(w http.ResponseWriter, r *http.Request, _ []byte, n int) {
		out := httptest.NewRecorder()
		s.answer(e, out, r)
		s.answered(n, out.Code)
		maps.Copy(w.Header(), out.Header())
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes())
	})
}

// answer answers a request as the options want it.
func (s *Server) answer(e Endpoint, w http.ResponseWriter, r *http.Request) {
	var err error
	switch e {
	case MetadataEndpoint:
		err = s.serveMetadata(w, r)
	case AuthorizationEndpoint:
		err = s.serveAuthorization(w, r)
	case TokenEndpoint:
		err = s.serveToken(w, r)
	case RegistrationEndpoint:
		err = s.serveRegistration(w, r)
	case RevocationEndpoint:
		err = s.serveRevocation(w, r)
	case DeviceEndpoint:
		err = s.serveDevice(w, r)
	case keysEndpoint:
		err = s.serveKeys(w)
	default:
		http.NotFound(w, r)
	}
	if err != nil {
		s.refuse(w, err)
	}
}

// A refusal is an OAuth error answer (RFC 6749, section 5.2).
type refusal struct {
	code   string
	status int // 400 if zero
	text   string
}

func (e *refusal) Error() string { return e.code + ": " + e.text }

func refusef(code, format string, args ...any) error {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// refuse answers with an error.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*refusal](err)
	if !ok {
		e = &refusal{code: "server_error", status: http.StatusInternalServerError, text: err.Error()}
	}
	status := cmp.Or(e.status, http.StatusBadRequest)
	if e.code == "invalid_client" {
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Basic realm="authtest"`)
	}
	writeJSON(w, status, map[string]any{"error": e.code, "error_description": e.text})
}

func writeJSON(w http.ResponseWriter, status int, document map[string]any) {
	data, err := json.Marshal(document)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
