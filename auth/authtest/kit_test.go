package authtest_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	redirectURI = "http://127.0.0.1:9999/callback"
	verifier    = "a-code-verifier-that-is-long-enough-to-be-one-43"
)

// An app is a client of a server, with nothing but net/http.
type app struct {
	t            *testing.T
	server       *authtest.Server
	id, resource string
}

// echo tells what a handler is told.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authtest-User")+" "+r.Header.Get("Authtest-Scope"))
	})
}

func newApp(t *testing.T, s *authtest.Server, r *authtest.Resource) *app {
	t.Helper()
	a := &app{t: t, server: s}
	if r != nil {
		a.resource = r.URL
	}
	status, answer := a.register(`{"redirect_uris":["` + redirectURI + `"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"]}`)
	assert.Equal(t, status, http.StatusCreated, "registration")
	a.id = answer["client_id"].(string)
	return a
}

// newServer returns a server, and a client of it and of a resource.
func newServer(t *testing.T, o *authtest.Options) (*authtest.Server, *app) {
	t.Helper()
	s := authtest.NewServer(t, o)
	return s, newApp(t, s, s.Protect(echo(), nil))
}

func (a *app) register(document string) (int, map[string]any) {
	a.t.Helper()
	response, err := a.server.Client().Post(a.server.URL(authtest.RegistrationEndpoint), "application/json", strings.NewReader(document))
	return a.read(response, err)
}

func (a *app) get(address string) (int, map[string]any) {
	a.t.Helper()
	response, err := a.server.Client().Get(address)
	return a.read(response, err)
}

// document returns the JSON document at an address.
func (a *app) document(address string) map[string]any {
	a.t.Helper()
	_, document := a.get(address)
	return document
}

func (a *app) read(response *http.Response, err error) (int, map[string]any) {
	a.t.Helper()
	assert.OK(a.t, err)
	defer response.Body.Close()
	var answer map[string]any
	_ = json.Unmarshal(assert.Value(io.ReadAll(response.Body))(a.t), &answer)
	return response.StatusCode, answer
}

// query returns a right authorization request, with changes.
func (a *app) query(changes ...string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {a.id}, "redirect_uri": {redirectURI}, "state": {"some-state"},
		"scope": {"read write"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
	}
	if a.resource != "" {
		q.Set("resource", a.resource)
	}
	return changed(q, changes)
}

// changed applies pairs of names and values; an empty value removes.
func changed(v url.Values, changes []string) url.Values {
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "" {
			v.Del(changes[i])
		} else {
			v.Set(changes[i], changes[i+1])
		}
	}
	return v
}

// approve returns what comes back to the redirect URI.
func (a *app) approve(changes ...string) url.Values {
	a.t.Helper()
	callback := assert.Value(a.server.Approve(context.Background(), a.server.URL(authtest.AuthorizationEndpoint)+"?"+a.query(changes...).Encode()))(a.t)
	assert.Contains(a.t, callback, redirectURI+"?", "sent back to")
	return assert.Value(url.Parse(callback))(a.t).Query()
}

// token sends a token request.
func (a *app) token(changes ...string) (int, map[string]any) {
	a.t.Helper()
	form := url.Values{"client_id": {a.id}}
	if a.resource != "" {
		form.Set("resource", a.resource)
	}
	return a.post(authtest.TokenEndpoint, changed(form, changes))
}

func (a *app) post(e authtest.Endpoint, form url.Values) (int, map[string]any) {
	a.t.Helper()
	response, err := a.server.Client().PostForm(a.server.URL(e), form)
	return a.read(response, err)
}

func (a *app) exchange(code string, changes ...string) (int, map[string]any) {
	a.t.Helper()
	return a.token(append([]string{
		"grant_type", "authorization_code", "code", code, "redirect_uri", redirectURI, "code_verifier", verifier,
	}, changes...)...)
}

func (a *app) refresh(token string, changes ...string) (int, map[string]any) {
	a.t.Helper()
	return a.token(append([]string{"grant_type", "refresh_token", "refresh_token", token}, changes...)...)
}

// login returns an access and a refresh token.
func (a *app) login(changes ...string) (access, refresh string) {
	a.t.Helper()
	status, answer := a.exchange(a.approve(changes...).Get("code"))
	assert.Equal(a.t, status, http.StatusOK, "exchange")
	refresh, _ = answer["refresh_token"].(string)
	return answer["access_token"].(string), refresh
}

// call calls the resource.
func (a *app) call(access string) *http.Response {
	a.t.Helper()
	r := assert.Value(http.NewRequest(http.MethodPost, a.resource, strings.NewReader(`{}`)))(a.t)
	if access != "" {
		r.Header.Set("Authorization", "Bearer "+access)
	}
	response := assert.Value(a.server.Client().Do(r))(a.t)
	a.t.Cleanup(func() { response.Body.Close() })
	return response
}

func (a *app) wantCall(access string, status int) {
	a.t.Helper()
	assert.Equal(a.t, a.call(access).StatusCode, status, "the resource answers")
}

// granted checks that a request was granted, and returns the answer.
func (a *app) granted(status int, answer map[string]any) map[string]any {
	a.t.Helper()
	assert.Equal(a.t, status, http.StatusOK, "status of %v", answer)
	return answer
}

// want checks the answer to a request that is refused.
func (a *app) want(code string) func(status int, answer map[string]any) {
	return func(status int, answer map[string]any) {
		a.t.Helper()
		assert.Equal(a.t, [...]any{answer["error"], status / 100}, [...]any{code, 4}, "answer")
	}
}

// errOf returns the error of a call that returns a value as well.
// metadataURL returns the address of the metadata of a resource.
func metadataURL(r *authtest.Resource) string {
	return strings.TrimSuffix(r.URL, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
}

func errOf[V any](_ V, err error) error { return err }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jws signs claims, in a way that is not the kit's own.
func jws(t *testing.T, key crypto.Signer, header, claims map[string]any) string {
	t.Helper()
	part := func(v any) string { return base64.RawURLEncoding.EncodeToString(assert.Value(json.Marshal(v))(t)) }
	digest := func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		return sum[:]
	}
	alg, sign := "EdDSA", func(text string) ([]byte, error) { return key.Sign(rand.Reader, []byte(text), crypto.Hash(0)) }
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		alg, sign = "ES256", func(text string) ([]byte, error) {
			r, s, err := ecdsa.Sign(rand.Reader, key, digest(text))
			return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), err
		}
	case *rsa.PrivateKey:
		alg, sign = "RS256", func(text string) ([]byte, error) { return key.Sign(rand.Reader, digest(text), crypto.SHA256) }
	}
	header["alg"] = alg
	signed := part(header) + "." + part(claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(assert.Value(sign(signed))(t))
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

// jwkOf returns the public JWK of a P-256 key.
func jwkOf(t *testing.T, key *ecdsa.PrivateKey) map[string]any {
	t.Helper()
	point := assert.Value(key.PublicKey.Bytes())(t)
	return map[string]any{
		"kty": "EC", "crv": "P-256",
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]),
		"y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}
}
