package oidc_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/access/oidc"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// belt is the gateway of the tests.
const belt = "https://belt.example"

// A server is an authorization server with a JWKS, whose keys rotate.
type server struct {
	*httptest.Server
	fetches atomic.Int64 // of the JWKS

	mu       sync.Mutex // guards the following
	metadata string     // path of the metadata
	answers  func(w http.ResponseWriter, r *http.Request) bool
	key      *ecdsa.PrivateKey
	kid      string
	keys     []jose.JSONWebKey
}

// newHTTPServer returns a server on a loopback address.
func newHTTPServer(t *testing.T) *server {
	t.Helper()
	s := &server{metadata: "/.well-known/openid-configuration"}
	s.rotate(t, "one", false)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// inMemory are the servers without a connection, by their host.
var inMemory sync.Map

// newServer returns a server without a connection, for tests on the virtual clock: an issuer has 5 s to answer.
func newServer(t *testing.T) *server {
	t.Helper()
	host := strings.ToLower(rand.Text()) + ".example"
	s := &server{metadata: "/.well-known/openid-configuration", Server: &httptest.Server{URL: "https://" + host}}
	s.rotate(t, "one", false)
	inMemory.Store(host, s)
	return s
}

// A memoryTransport has requests answered by the servers without a connection.
type memoryTransport struct{}

// RoundTrip implements [http.RoundTripper].
func (memoryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s, ok := inMemory.Load(r.URL.Host)
	if !ok {
		return nil, errors.New("no such host")
	}
	w := httptest.NewRecorder()
	s.(*server).serve(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	answers, keys, metadata := s.answers, s.keys, s.metadata
	s.mu.Unlock()
	if answers != nil && answers(w, r) {
		return
	}
	var answer any
	switch r.URL.Path {
	case metadata:
		answer = map[string]string{"issuer": s.URL, "jwks_uri": s.URL + "/keys"}
	case "/keys":
		s.fetches.Add(1)
		answer = jose.JSONWebKeySet{Keys: keys}
	default:
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// rotate makes a key of the given id the one that signs. The others are published still if keep is set.
func (s *server) rotate(t *testing.T, kid string, keep bool) {
	t.Helper()
	key := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !keep {
		s.keys = nil
	}
	s.key, s.kid = key, kid
	s.keys = append(s.keys[:len(s.keys):len(s.keys)], jose.JSONWebKey{Key: key.Public(), KeyID: kid, Algorithm: "ES256", Use: "sig"})
}

// answer has the server answer requests in another way.
func (s *server) answer(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = f
}

// claims are those of a usual token, with some changed; nil leaves one out.
func (s *server) claims(changes map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": s.URL, "sub": "ada", "aud": belt + "/mcp", "client_id": "desk",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "scope": "read write",
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, value any) bool { return value == nil })
	return c
}

// token returns a token that the server has signed.
func (s *server) token(t *testing.T, kind string, changes map[string]any) string {
	t.Helper()
	s.mu.Lock()
	key, kid := s.key, s.kid
	s.mu.Unlock()
	return sign(t, jose.ES256, key, kid, kind, s.claims(changes))
}

// sign returns a token.
func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, kid, kind string, claims map[string]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithHeader("kid", kid)
	if kind != "" {
		o = o.WithType(jose.ContentType(kind))
	}
	signer := assert.Value(jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o))(t)
	return assert.Value(assert.Value(signer.Sign(assert.Value(json.Marshal(claims))(t)))(t).CompactSerialize())(t)
}

// signOdd returns a token whose header and claims have further members, as text, behind the usual ones.
func signOdd(t *testing.T, alg jose.SignatureAlgorithm, key any, header map[string]any, claims map[string]any, members string) string {
	t.Helper()
	o := &jose.SignerOptions{}
	for name, value := range header {
		o = o.WithHeader(jose.HeaderKey(name), value)
	}
	signer := assert.Value(jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o))(t)
	payload := assert.Value(json.Marshal(claims))(t)
	return assert.Value(assert.Value(signer.Sign(append(payload[:len(payload)-1], members+"}"...)))(t).CompactSerialize())(t)
}

// unsigned returns a token of alg none.
func unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	payload := assert.Value(json.Marshal(claims))(t)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + encode(payload) + "."
}

// publicText is a public key as text, which a careless verifier takes for the secret of HS256.
func publicText(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: assert.Value(x509.MarshalPKIXPublicKey(key))(t)})
}

// authenticator accepts tokens of the server.
func (s *server) authenticator(t *testing.T, change func(*oidc.Options)) access.Authenticator {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	client := &http.Client{Transport: &http.Transport{}}
	if _, ok := inMemory.Load(strings.TrimPrefix(s.URL, "https://")); ok {
		client.Transport = memoryTransport{}
	}
	t.Cleanup(client.CloseIdleConnections)
	o := &oidc.Options{Issuers: []string{s.URL}, Resource: belt, Audiences: []string{belt + "/"}, Client: client}
	if change != nil {
		change(o)
	}
	return assert.Value(oidc.New(ctx, o))(t)
}

// with returns a request of a path with a token.
func with(path, token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, belt+path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
