package authtest_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A holder is an app whose tokens are bound to a key.
type holder struct {
	*app
	key *ecdsa.PrivateKey
}

func newHolder(t *testing.T, o *authtest.Options, r *authtest.ResourceOptions) (*holder, *authtest.Resource) {
	s := authtest.NewServer(t, o)
	p := s.Protect(echo(), r)
	return &holder{app: newApp(t, s, p), key: newKey(t)}, p
}

// proof makes a proof; changes are pairs of claims and values.
func (h *holder) proof(method, target string, changes ...any) string {
	return jws(h.t, h.key, map[string]any{"typ": "dpop+jwt", "jwk": jwkOf(h.t, h.key)}, h.claims(method, target, changes...))
}

func (h *holder) claims(method, target string, changes ...any) map[string]any {
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": target, "iat": time.Now().Unix()}
	for i := 0; i < len(changes); i += 2 {
		claims[changes[i].(string)] = changes[i+1]
	}
	return claims
}

// send sends a request with a proof and returns the answer.
func (h *holder) send(target, authorization, proof, kind, body string) *http.Response {
	h.t.Helper()
	r := assert.Value(http.NewRequest(http.MethodPost, target, strings.NewReader(body)))(h.t)
	r.Header.Set("Content-Type", kind)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	if proof != "" {
		r.Header.Set("DPoP", proof)
	}
	response := assert.Value(h.server.Client().Do(r))(h.t)
	h.t.Cleanup(func() { response.Body.Close() })
	return response
}

// redeem sends a token request with a proof.
func (h *holder) redeem(form url.Values, proof string) (*http.Response, map[string]any) {
	h.t.Helper()
	form.Set("client_id", h.id)
	form.Set("resource", h.resource)
	response := h.send(h.server.URL(authtest.TokenEndpoint), "", proof, "application/x-www-form-urlencoded", form.Encode())
	_, answer := h.read(response, nil)
	return response, answer
}

func (h *holder) codeForm(changes ...string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "code": {h.approve(changes...).Get("code")},
		"redirect_uri": {redirectURI}, "code_verifier": {verifier},
	}
}

func withPrivate(key map[string]any) map[string]any {
	key["d"] = "AA"
	return key
}

func base64Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

func TestDPoP(t *testing.T) {
	h, p := newHolder(t, &authtest.Options{DPoP: true}, &authtest.ResourceOptions{DPoPRequired: true})
	token := h.server.URL(authtest.TokenEndpoint)
	assert.Contains(t, h.call("").Header.Get("WWW-Authenticate"), `DPoP algs="ES256`, "challenge")
	form := h.codeForm()
	for _, changes := range [][]any{
		{"htm", "GET"}, {"htu", p.URL}, {"iat", time.Now().Add(-time.Hour).Unix()}, {"iat", time.Now().Add(time.Hour).Unix()},
		{"jti", ""}, {"content_digest", digest("")},
	} {
		_, answer := h.redeem(form, h.proof("POST", token, changes...))
		assert.Equal(t, answer["error"], "invalid_dpop_proof", "%v", changes)
	}
	_, answer := h.redeem(form, h.proof("POST", token))
	access, _ := answer["access_token"].(string)
	assert.Equal(t, answer["token_type"], "DPoP", "type")

	const body = `{"a":1}`
	right := []any{"ath", base64Hash(access), "content_digest", digest(body)}
	used := h.proof("POST", p.URL, right...)
	assert.Equal(t, h.send(p.URL, "DPoP "+access, used, "application/json", body).StatusCode, 200, "status")
	other := &holder{app: h.app, key: newKey(t)}
	for name, proof := range map[string]string{
		"none": "", "used": used, "another key": other.proof("POST", p.URL, right...),
		"no digest":         h.proof("POST", p.URL, "ath", base64Hash(access)),
		"wrong digest":      h.proof("POST", p.URL, "ath", base64Hash(access), "content_digest", digest("other")),
		"wrong hash":        h.proof("POST", p.URL, "ath", base64Hash("other"), "content_digest", digest(body)),
		"other target":      h.proof("POST", token, right...),
		"other method":      h.proof("GET", p.URL, right...),
		"forged":            jws(t, newKey(t), map[string]any{"typ": "dpop+jwt", "jwk": jwkOf(t, h.key)}, h.claims("POST", p.URL, right...)),
		"private key in it": jws(t, h.key, map[string]any{"typ": "dpop+jwt", "jwk": withPrivate(jwkOf(t, h.key))}, h.claims("POST", p.URL, right...)),
		"broken":            used[:len(used)-8],
		"no jwt at all":     "x",
	} {
		response := h.send(p.URL, "DPoP "+access, proof, "application/json", body)
		assert.Equal(t, response.StatusCode, 401, "proof %s", name)
		assert.Contains(t, response.Header.Get("WWW-Authenticate"), `error="invalid_dpop_proof"`, "proof %s", name)
	}
	assert.Equal(t, h.send(p.URL, "Bearer "+access, h.proof("POST", p.URL, right...), "application/json", body).StatusCode, 401, "as a bearer token: status")

	refresh := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {answer["refresh_token"].(string)}}
	_, answer = h.redeem(refresh, other.proof("POST", token))
	assert.Equal(t, answer["error"], "invalid_dpop_proof", "another key")
	_, answer = h.redeem(refresh, h.proof("POST", token))
	assert.Equal(t, answer["token_type"], "DPoP", "the same key")
	_, answer = h.redeem(h.codeForm("dpop_jkt", "another-thumbprint"), h.proof("POST", token))
	assert.Equal(t, answer["error"], "invalid_dpop_proof", "another thumbprint")
}

// The stream of older revisions is read with GET, without a body.
func TestDPoPWithoutBody(t *testing.T) {
	h, p := newHolder(t, &authtest.Options{DPoP: true}, nil)
	_, answer := h.redeem(h.codeForm(), h.proof("POST", h.server.URL(authtest.TokenEndpoint)))
	access := answer["access_token"].(string)
	r := assert.Value(http.NewRequest(http.MethodGet, p.URL, nil))(t)
	r.Header.Set("Authorization", "DPoP "+access)
	r.Header.Set("DPoP", h.proof("GET", p.URL, "ath", base64Hash(access)))
	response := assert.Value(h.server.Client().Do(r))(t)
	defer response.Body.Close()
	assert.Equal(t, response.StatusCode, 200, "status")
}

func TestNonces(t *testing.T) {
	h, p := newHolder(t, &authtest.Options{DPoP: true, DPoPNonce: true}, nil)
	token := h.server.URL(authtest.TokenEndpoint)
	form := h.codeForm()
	response, answer := h.redeem(form, h.proof("POST", token))
	nonce := response.Header.Get("DPoP-Nonce")
	assert.Equal(t, answer["error"], "use_dpop_nonce", "answer")
	response, answer = h.redeem(form, h.proof("POST", token, "nonce", nonce+"x"))
	assert.Equal(t, answer["error"], "use_dpop_nonce", "answer")
	_, answer = h.redeem(form, h.proof("POST", token, "nonce", response.Header.Get("DPoP-Nonce")))
	access, _ := answer["access_token"].(string)
	call := func(nonce string) *http.Response {
		changes := []any{"ath", base64Hash(access), "content_digest", digest("{}")}
		if nonce != "" {
			changes = append(changes, "nonce", nonce)
		}
		return h.send(p.URL, "DPoP "+access, h.proof("POST", p.URL, changes...), "application/json", "{}")
	}
	response = call("")
	nonce = response.Header.Get("DPoP-Nonce")
	assert.Equal(t, response.StatusCode, 401, "status")
	assert.Contains(t, response.Header.Get("WWW-Authenticate"), "use_dpop_nonce", "challenge")
	assert.Equal(t, call(nonce).StatusCode, 200, "status")
	assert.Equal(t, call(nonce+"x").StatusCode, 401, "status")
}

// Where DPoP is possible and not required, both kinds of tokens are good.
func TestDPoPSupported(t *testing.T) {
	h, p := newHolder(t, &authtest.Options{DPoP: true}, nil)
	assert.Equal(t, len(h.call("").Header.Values("WWW-Authenticate")), 2, "challenges")
	access, _ := h.login()
	h.wantCall(access, 200)
	assert.Equal(t, h.document(metadataURL(p))["dpop_bound_access_tokens_required"], nil, "metadata of the resource")
	for _, address := range []string{metadataURL(p), h.server.URL(authtest.MetadataEndpoint)} {
		assert.True(t, h.document(address)["dpop_signing_alg_values_supported"] != nil, "%s has the algorithms", address)
	}

	required := h.server.Protect(echo(), &authtest.ResourceOptions{DPoPRequired: true})
	h.resource = required.URL
	access, _ = h.login()
	h.wantCall(access, 401)
}
