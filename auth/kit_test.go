package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A busy machine takes its time to answer a browser.
func init() { hitTime = 2 * time.Minute }

// A posted request is one that a peer has received.
type posted struct {
	path   string
	header http.Header
	body   string
	form   url.Values
}

// A peer is an authorization server that answers as the test wants, and writes
// down what it was sent.
type peer struct {
	url string

	mu     sync.Mutex
	answer http.HandlerFunc
	got    []posted
}

func newPeer(t testing.TB, answer http.HandlerFunc) *peer {
	p := &peer{answer: answer}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	p.url = srv.URL
	return p
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	p.mu.Lock()
	p.got = append(p.got, posted{r.URL.Path, r.Header.Clone(), string(body), form})
	answer := p.answer
	p.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	answer(w, r)
}

// says has it give another answer from now on.
func (p *peer) says(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// requests returns what it was sent so far.
func (p *peer) requests() []posted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]posted(nil), p.got...)
}

// only returns the one request that it was sent.
func (p *peer) only(t testing.TB) posted {
	t.Helper()
	got := p.requests()
	if len(got) != 1 {
		t.Fatalf("%d requests, want 1", len(got))
	}
	return got[0]
}

// authority returns what discovery would say of the peer.
func (p *peer) authority() *Authority {
	return &Authority{
		Resource: "https://mcp.example.com/mcp", HasMetadata: true, Issuer: p.url,
		AuthorizationEndpoint: p.url + "/authorize", TokenEndpoint: p.url + "/token",
		RegistrationEndpoint: p.url + "/register", RevocationEndpoint: p.url + "/revoke", PKCE: true,
	}
}

// public returns a client without secret, of the peer.
func (p *peer) public() *Client {
	return &Client{Issuer: p.url, ID: "client", AuthMethod: authNone, Source: Dynamic}
}

// flow returns the Flow of a server that is on this machine, like its peers.
func flow(t testing.TB, c Config) *Flow {
	t.Helper()
	c.Server = "files"
	if c.URL == "" {
		c.URL = "http://127.0.0.1:1/mcp"
	}
	return flowOf(t, &c)
}

// sends returns a handler that sends a JSON answer.
func sends(status int, body string) http.HandlerFunc {
	return sendsAs("application/json", status, body)
}

// sendsAs returns a handler that sends an answer of a content type.
func sendsAs(kind string, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// tokenAnswer is an answer to a token request that has all there is.
const tokenAnswer = `{"access_token":"AT","token_type":"Bearer","refresh_token":"RT2","expires_in":3600,"scope":"read write"}`

const redirectURI = "http://127.0.0.1:4711/callback"

// begin begins a login at a peer.
func begin(t testing.TB, f *Flow, a *Authority, c *Client) *Pending {
	t.Helper()
	return assert.Value(f.Begin(a, c, redirectURI, []string{"read"}))(t)
}

// callback returns the address at which a browser comes back.
func callback(p *Pending, members ...string) string {
	q := url.Values{"state": {p.State.Reveal()}}
	for i := 0; i+1 < len(members); i += 2 {
		q.Add(members[i], members[i+1])
	}
	return p.RedirectURI + "?" + q.Encode()
}

// grantOf returns a grant of a peer, for a client.
func grantOf(a *Authority, c *Client) *TokenSet {
	return &TokenSet{
		Authority: *a,
		Client:    *c,
		Token:     Token{Access: "AT", Type: "Bearer", Refresh: "RT", Obtained: time.Now()},
		Scopes:    []string{"read"},
		Requested: []string{"read"},
	}
}

// forms returns the ways in which a secret could be written.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	return []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		fmt.Sprintf("%x", secret),
	}
}

// keepsSecrets fails if an error shows one of the secrets, however it is printed.
func keepsSecrets(t testing.TB, err error, secrets ...string) {
	t.Helper()
	encoded, _ := json.Marshal(err)
	for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), string(encoded)} {
		for _, secret := range secrets {
			assert.LacksAll(t, text, forms(secret)...)
		}
	}
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }

// A site answers GETs with the documents that a test puts there, and writes down
// what it was asked for.
type site struct {
	url string

	mu   sync.Mutex
	docs map[string]http.HandlerFunc
	got  []string
}

func newSite(t testing.TB) *site {
	s := &site{docs: map[string]http.HandlerFunc{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.got = append(s.got, r.Method+" "+r.URL.RequestURI())
	serve := s.docs[r.URL.Path]
	s.mu.Unlock()
	if r.Header.Get("MCP-Protocol-Version") != "2026-07-28" {
		http.Error(w, "no revision", http.StatusTeapot)
		return
	}
	if serve == nil {
		http.NotFound(w, r)
		return
	}
	serve(w, r)
}

func (s *site) put(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.docs[path] = h
}

// asked returns what the site was asked for so far.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *site) wantAsked(t testing.TB, paths ...string) {
	t.Helper()
	var want []string
	for _, p := range paths {
		want = append(want, "GET "+p)
	}
	assert.Equal(t, fmt.Sprint(s.asked()), fmt.Sprint(want), "asked for")
}

func parsed(t testing.TB, raw string) *url.URL {
	t.Helper()
	return assert.Value(url.Parse(raw))(t)
}

type members = map[string]any

func jsonDoc(doc any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Error(w, "SECRET", code) }
}

// elsewhere sends to another origin, as programs do that know no such page; html is one.
var elsewhere, html = redirects(http.StatusFound, "https://login.example/SECRET"), sendsAs("text/html", 200, "<html>SECRET")

// newServer returns a server whose metadata names an authorization server, which has metadata,
// changed as told.
func newServer(t testing.TB, change members) (server, as *site) {
	t.Helper()
	server, as = newSite(t), newSite(t)
	server.resource(pathPRM, server.url+"/mcp", as.url)
	as.put(rootAS, jsonDoc(authorityDoc(as.url, change)))
	return server, as
}

// discover asks the Flow of a server.
func (s *site) discover(t testing.TB, c Config) (*Authority, error) {
	t.Helper()
	if c.URL == "" {
		c.URL = s.url + "/mcp"
	}
	return flowOf(t, &c).Discover(t.Context(), nil)
}

// resource puts the metadata of a server there.
func (s *site) resource(at, resource string, issuers ...string) {
	s.put(at, jsonDoc(members{"resource": resource, "authorization_servers": issuers, "scopes_supported": []string{"r"}}))
}

// authorityDoc returns good metadata, changed as told; nil leaves out.
func authorityDoc(issuer string, change members) members {
	doc := members{
		"issuer":                           issuer,
		"authorization_endpoint":           issuer + "/authorize",
		"token_endpoint":                   issuer + "/token",
		"code_challenge_methods_supported": []string{"plain", "S256"},
	}
	for name, value := range change {
		if doc[name] = value; value == nil {
			delete(doc, name)
		}
	}
	return doc
}

const (
	pathPRM = "/.well-known/oauth-protected-resource/mcp"
	rootPRM = "/.well-known/oauth-protected-resource"
	rootAS  = "/.well-known/oauth-authorization-server"
	rootOIC = "/.well-known/openid-configuration"
)

func flowOf(t testing.TB, c *Config) *Flow {
	t.Helper()
	f := assert.Value(New(c))(t)
	t.Cleanup(f.Close)
	return f
}

func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	want := assert.As[E](t, err)
	assert.Lacks(t, err.Error(), "SECRET", "error")
	return want
}

// challenge is what a server says that names its metadata.
func challenge(address string) []Challenge {
	return Challenges(http.Header{"Www-Authenticate": {`Bearer resource_metadata="` + address + `"`}})
}

type params = map[string]string

func challengesOf(fields ...string) []Challenge {
	return Challenges(http.Header{"Www-Authenticate": fields})
}

func dpopKey(t testing.TB) Secret {
	t.Helper()
	return assert.Value(newDPoPKey())(t)
}

// openProof checks a proof by the key in its own header, and returns its claims
// and the thumbprint of that key.
func openProof(t testing.TB, proof string) (claims map[string]any, print string) {
	t.Helper()
	head := assert.Value(base64.RawURLEncoding.DecodeString(strings.Split(proof, ".")[0]))(t)
	var header struct {
		Type      string            `json:"typ"`
		Algorithm string            `json:"alg"`
		Key       map[string]string `json:"jwk"`
	}
	assert.OK(t, json.Unmarshal(head, &header))
	assert.Equal(t, [...]any{header.Type, header.Algorithm}, [...]any{"dpop+jwt", "ES256"}, "header %s", head)
	assert.Equal(t, [...]any{len(header.Key), header.Key["kty"], header.Key["crv"]}, [...]any{4, "EC", "P-256"}, "key")
	point := []byte{4} // uncompressed: x and y follow
	for _, name := range []string{"x", "y"} {
		point = append(point, assert.Value(base64.RawURLEncoding.DecodeString(header.Key[name]))(t)...)
	}
	_, claims = openJWT(t, proof, assert.Value(ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point))(t))
	print = assert.Value(jwk{Curve: "P-256", Type: "EC", X: header.Key["x"], Y: header.Key["y"]}.thumbprint())(t)
	return claims, print
}

// openJWT checks the signature of a JWT with the standard library and returns its
// header and claims.
func openJWT(t testing.TB, token string, public crypto.PublicKey) (header, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	assert.Equal(t, len(parts), 3, "parts of the JWT %q", token)
	var raw [3][]byte
	for i, part := range parts {
		raw[i] = assert.Value(base64.RawURLEncoding.Strict().DecodeString(part))(t)
	}
	assert.OK(t, errors.Join(json.Unmarshal(raw[0], &header), json.Unmarshal(raw[1], &claims)))
	input, signature := []byte(parts[0]+"."+parts[1]), raw[2]
	alg, _ := header["alg"].(string)
	if key, ok := public.(ed25519.PublicKey); ok {
		assert.Equal(t, alg, "EdDSA", "algorithm of the key")
		assert.True(t, ed25519.Verify(key, input, signature), "the signature by %s is right", alg)
		return header, claims
	}
	hash := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}[alg[2:]]
	digester := hash.New()
	digester.Write(input)
	digest := digester.Sum(nil)
	switch alg[:2] {
	case "RS":
		assert.OK(t, rsa.VerifyPKCS1v15(public.(*rsa.PublicKey), hash, digest, signature), "%s", alg)
	case "ES":
		size := map[string]int{"ES256": 32, "ES384": 48, "ES512": 66}[alg]
		assert.Equal(t, len(signature), 2*size, "bytes of the signature by %s", alg)
		r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
		assert.True(t, ecdsa.Verify(public.(*ecdsa.PublicKey), digest, r, s), "the signature by %s is right", alg)
	default:
		t.Fatalf("got the algorithm %q", alg)
	}
	return header, claims
}

// rsaKey is made once: that takes a while.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, _ := rsa.GenerateKey(rand.Reader, 2048)
	return key
})

func ecdsaKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	return assert.Value(ecdsa.GenerateKey(curve, rand.Reader))(t)
}

func ed25519Key(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	assert.OK(t, err)
	return key
}

func signingKey(t testing.TB) *SigningKey {
	t.Helper()
	return &SigningKey{Signer: ecdsaKey(t, elliptic.P256())}
}

// redirects returns a handler that redirects, with any method.
func redirects(status int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	}
}

// sendsWithNonce returns a handler that sends a JSON answer to a proof with the nonce n1.
func sendsWithNonce(t testing.TB, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("DPoP-Nonce", "n1")
		if claims, _ := openProof(t, r.Header.Get("DPoP")); claims["nonce"] != "n1" {
			sends(400, `{"error":"use_dpop_nonce"}`)(w, r)
			return
		}
		sends(200, body)(w, r)
	}
}

// wantPosted checks the path and the form of a request, whose parameters are given as names
// and values.
func wantPosted(t testing.TB, got posted, path string, params ...string) {
	t.Helper()
	want := url.Values{}
	for i := 0; i < len(params); i += 2 {
		want.Set(params[i], params[i+1])
	}
	assert.Equal(t, got.path, path, "path")
	assert.Equal(t, got.form.Encode(), want.Encode(), "form")
}

// wantBasic checks the user and the password of a request, as they are encoded.
func wantBasic(t testing.TB, got posted, id, secret string) {
	t.Helper()
	gotID, gotSecret, _ := (&http.Request{Header: got.header}).BasicAuth()
	assert.Equal(t, gotID+" "+gotSecret, id+" "+secret, "client and secret")
}

// wantRefused checks an error that tells of a refusal.
func wantRefused(t testing.TB, err error, request string, status int, code string, what ...any) {
	t.Helper()
	no := assert.As[*OAuthError](t, err, what...)
	assert.Equal(t, fmt.Sprint(no.Request, ": ", no.Status, " ", no.Code), fmt.Sprint(request, ": ", status, " ", code), what...)
}

// wantFailed checks an error that tells of a request without an answer of use.
func wantFailed(t testing.TB, err error, request string, notSent bool, what ...any) {
	t.Helper()
	failed := assert.As[*RequestError](t, err, what...)
	assert.Equal(t, failed.request, request, what...)
	assert.Equal(t, failed.NotSent, notSent, what...)
	assert.True(t, failed.host != "", what...)
}

// wantGrant checks the token of a grant, that it is of a peer, and has no secret of a client.
func wantGrant(t testing.TB, g *TokenSet, as *peer, client, token string) {
	t.Helper()
	assert.Equal(t, g.Token.Type+" "+g.Token.Access.Reveal(), token, "token")
	assert.Equal(t, g.Authority.Issuer, as.url, "issuer")
	assert.Equal(t, g.Client.ID+g.Client.Secret.Reveal(), client, "client")
}

// startLogin begins a login at a peer, with a Config that says nothing.
func startLogin(t testing.TB, as *peer) (*Flow, *Pending) {
	t.Helper()
	f := flow(t, Config{})
	return f, begin(t, f, as.authority(), as.public())
}

// refresh renews a grant of a peer, with a Config that says nothing.
func refresh(t testing.TB, as *peer) error {
	t.Helper()
	return errOf(flow(t, Config{}).Refresh(t.Context(), grantOf(as.authority(), as.public())))
}

func noAssertion(context.Context, string, string) (Secret, error) { return "JWT", nil }

func TestMain(m *testing.M) {
	// Parallel tests wait for a server, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
