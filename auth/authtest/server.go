package authtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxBody bounds what is read of a request.
const maxBody = 16 << 20

// A Server is an authorization server on a loopback address. Its methods are safe
// for concurrent use.
type Server struct {
	// Issuer identifies the server. It is its address, too.
	Issuer string

	options Options
	origin  string
	http    *httptest.Server
	once    sync.Once
	records records
	faults  faults
	nonces  nonces
	key     *ecdsa.PrivateKey // signs what the server says of others

	mu        sync.Mutex // guards the following
	resources []*Resource
	clients   map[string]*client
	codes     map[string]*code
	devices   map[string]*device
	families  []*family
	access    map[string]*accessToken
	refresh   map[string]*refreshToken
	seen      map[string]bool // ids of JWTs that are good once
	epoch     int             // of the last ExpireAll
	revoked   int             // families, by reuse
	serial    int             // of registered clients
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
	if o == nil {
		o = &Options{}
	}
	s := &Server{
		options: *o,
		clients: map[string]*client{},
		codes:   map[string]*code{},
		devices: map[string]*device{},
		seen:    map[string]bool{},
		access:  map[string]*accessToken{},
		refresh: map[string]*refreshToken{},
	}
	s.options.Clients = slices.Clone(o.Clients)
	s.options.Scopes = slices.Clone(o.Scopes)
	if s.options.TokenLifetime == 0 {
		s.options.TokenLifetime = time.Hour
	}
	if p := o.Path; p != "" && (p[0] != '/' || strings.HasSuffix(p, "/")) {
		return nil, fmt.Errorf("authtest: Options.Path %q: it begins with a slash and does not end with one", p)
	}
	if o.Device != nil {
		device := *o.Device
		if device.Interval == 0 {
			device.Interval = time.Second
		}
		if device.Lifetime == 0 {
			device.Lifetime = 10 * time.Minute
		}
		s.options.Device = &device
	}
	var err error
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("authtest: %w", err)
	}
	s.nonces = newNonces(o.DPoPNonce)
	s.records.off = o.NoRecord
	for _, c := range s.options.Clients {
		if err := s.add(c); err != nil {
			return nil, err
		}
	}
	s.http = listen(s.serve, o.TLS, func(origin string) { s.origin, s.Issuer = origin, origin+o.Path })
	return s, nil
}

// listen starts a server. Before it serves anyone, at is told its origin.
func listen(h http.HandlerFunc, secure bool, at func(origin string)) *httptest.Server {
	l := httptest.NewUnstartedServer(h)
	l.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse us are no news
	if secure {
		at("https://" + l.Listener.Addr().String())
		l.StartTLS()
	} else {
		at("http://" + l.Listener.Addr().String())
		l.Start()
	}
	return l
}

// Close ends the server and its resources with all their connections.
func (s *Server) Close() {
	s.once.Do(func() {
		s.mu.Lock()
		resources := s.resources
		s.resources = nil
		s.mu.Unlock()
		for _, r := range resources {
			closeServer(r.http)
		}
		closeServer(s.http)
	})
}

// closeServer ends a server and its connections. It stops to listen first: a client that
// comes back at once would get a connection that Close waits for.
func closeServer(s *httptest.Server) {
	_ = s.Listener.Close()
	s.CloseClientConnections()
	s.Close()
}

// Client returns a client that trusts the certificates of the server and of its
// resources. Its connections end with the server.
func (s *Server) Client() *http.Client { return s.http.Client() }

// TLS returns a configuration for clients that trusts the certificates of the
// server and of its resources; nil without Options.TLS.
func (s *Server) TLS() *tls.Config {
	certificate := s.http.Certificate()
	if certificate == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

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
	// MetadataEndpoint has the metadata of the authorization server.
	MetadataEndpoint Endpoint = "metadata"
	// AuthorizationEndpoint is where users log in.
	AuthorizationEndpoint Endpoint = "authorize"
	// TokenEndpoint issues tokens.
	TokenEndpoint Endpoint = "token"
	// RegistrationEndpoint registers clients.
	RegistrationEndpoint Endpoint = "register"
	// RevocationEndpoint revokes tokens.
	RevocationEndpoint Endpoint = "revoke"
	// KeysEndpoint has the public key that signs ID tokens.
	KeysEndpoint Endpoint = "jwks"
	// DeviceEndpoint begins logins by device code.
	DeviceEndpoint Endpoint = "device_authorization"
	// VerificationPage is where a user is to type the code of a device. There is no page.
	VerificationPage Endpoint = "device"
	// ResourceEndpoint is the protected address of a Resource.
	ResourceEndpoint Endpoint = "resource"
	// ResourceMetadataEndpoint has the metadata of a Resource.
	ResourceMetadataEndpoint Endpoint = "resource metadata"
	// NoEndpoint is any other address.
	NoEndpoint Endpoint = ""
)

func (s *Server) endpoint(path string) Endpoint {
	if !s.options.NoMetadata && path == s.metadataPath() {
		return MetadataEndpoint
	}
	rest, ok := strings.CutPrefix(path, s.options.Path+"/")
	if !ok {
		return NoEndpoint
	}
	switch e := Endpoint(rest); e {
	case AuthorizationEndpoint, TokenEndpoint, RevocationEndpoint, KeysEndpoint:
		return e
	case DeviceEndpoint:
		if s.options.Device != nil {
			return e
		}
	case RegistrationEndpoint:
		if !s.options.NoRegistration {
			return e
		}
	}
	return NoEndpoint
}

// serve answers a request to the server's origin.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	e := s.endpoint(r.URL.Path)
	body, err := readBody(w, r)
	if err != nil {
		http.Error(w, "request too large or broken", http.StatusBadRequest)
		return
	}
	n := s.records.add(e, r, body)
	out := &statusWriter{ResponseWriter: w}
	defer func() { s.records.answered(n, out.status) }()
	if s.options.Tamper != nil && s.options.Tamper(out, r) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.faults.apply(e, out, r, s.answer)
}

// answer answers a request as the options want it, without faults.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	var err error
	switch s.endpoint(r.URL.Path) {
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
	case KeysEndpoint:
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
	var e *refusal
	if !errors.As(err, &e) {
		e = &refusal{code: "server_error", status: http.StatusInternalServerError, text: err.Error()}
	}
	status := e.status
	if status == 0 {
		status = http.StatusBadRequest
	}
	if e.code == "invalid_client" {
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Basic realm="authtest"`)
	}
	s.records.refuse(e.code)
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

// readBody reads the body of a request and puts it back.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *statusWriter) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
