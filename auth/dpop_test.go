package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
	if len(header.Key) != 4 || header.Key["kty"] != "EC" || header.Key["crv"] != "P-256" {
		t.Fatalf("key %v", header.Key)
	}
	point := []byte{4} // uncompressed: x and y follow
	for _, name := range []string{"x", "y"} {
		raw, err := base64.RawURLEncoding.DecodeString(header.Key[name])
		if err != nil || len(raw) != 32 {
			t.Fatalf("%s has %d bytes (%v)", name, len(raw), err)
		}
		point = append(point, raw...)
	}
	public := assert.Value(ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point))(t)
	_, claims = openJWT(t, proof, public)
	print = assert.Value(jwk{Curve: "P-256", Type: "EC", X: header.Key["x"], Y: header.Key["y"]}.thumbprint())(t)
	return claims, print
}

// The key of RFC 9449, figure 2, and its thumbprint of figure 11.
func TestThumbprint(t *testing.T) {
	key := jwk{Curve: "P-256", Type: "EC",
		X: "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
		Y: "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"}
	got, err := key.thumbprint()
	want := "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
	assert.OK(t, err)
	assert.Equal(t, got, want, "thumbprint")
}

// The token and its hash of RFC 9449, figures 12 and 13.
func TestTokenHash(t *testing.T) {
	assert.Equal(t, tokenHash("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"), "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo", "hash")
}

// The body and its digest of RFC 9530, appendix D.1.
func TestContentDigest(t *testing.T) {
	assert.Equal(t, contentDigest([]byte("{\"hello\": \"world\"}\n")), "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:", "digest")
}

func TestProofForTheAuthorizationServer(t *testing.T) {
	f := &Flow{config: Config{Server: "files"}}
	key := dpopKey(t)
	want := assert.Value(thumbprint(key))(t)
	seen := map[any]bool{}
	for _, nonce := range []string{"", "eyJ7S_zG.eyJH0-Z.HX4w-7v"} {
		begin := time.Now().Unix()
		proof := assert.Value(f.proof(key, "POST", "https://as.example/token?tenant=1", nonce))(t)
		claims, print := openProof(t, proof)
		assert.Equal(t, print, want, "thumbprint")
		assert.Equal(t, [...]any{claims["htm"], claims["htu"]}, [...]any{"POST", "https://as.example/token"}, "claims")
		if got, has := claims["nonce"]; has != (nonce != "") || has && got != nonce {
			t.Errorf("nonce %v, want %q", got, nonce)
		}
		at := int64(claims["iat"].(float64))
		assert.Equal(t, [...]any{at < begin, at > time.Now().Unix()}, [...]any{false, false}, "iat")
		if id, _ := claims["jti"].(string); len(id) < 22 || seen[id] {
			t.Errorf("jti %q is short or was used before", id)
		}
		seen[claims["jti"]] = true
		assert.Equal(t, [...]any{claims["ath"], claims["content_digest"]}, [...]any{nil, nil}, "claims that are for resources only")
	}
}

func TestProofTarget(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{"https://mcp.example/mcp", "https://mcp.example/mcp"},
		{"https://mcp.example/mcp?a=b&c=%23#there", "https://mcp.example/mcp"},
		{"https://mcp.example/mcp?", "https://mcp.example/mcp"},
		{"https://mcp.example/mcp/", "https://mcp.example/mcp/"},
		{"https://mcp.example", "https://mcp.example/"},
		{"HTTPS://MCP.Example:443/Mcp", "https://mcp.example/Mcp"},
		{"https://mcp.example:8443/mcp", "https://mcp.example:8443/mcp"},
		{"https://mcp.example:80/mcp", "https://mcp.example:80/mcp"},
		{"http://localhost:80/mcp", "http://localhost/mcp"},
		{"http://[::1]:8080/mcp", "http://[::1]:8080/mcp"},
		{"https://[2001:db8::443]/mcp", "https://[2001:db8::443]/mcp"},
		{"https://user:c4n4ry@mcp.example/mcp", "https://mcp.example/mcp"},
		{"https://mcp.example/a%2Fb/%C3%BC", "https://mcp.example/a%2Fb/%C3%BC"},
	} {
		got, err := proofTarget(test.raw)
		assert.OK(t, err, "%s", test.raw)
		assert.Equal(t, got, test.want, "%s", test.raw)
	}
	for _, raw := range []string{"", "/mcp", "mcp.example/mcp", "ftp://mcp.example/", "https:///mcp", "https://mcp.example/%zz"} {
		assert.Fails(t, errOf(proofTarget(raw)), "%s", raw)
	}
}

func TestAuthorizeWithAProof(t *testing.T) {
	g := &TokenSet{Token: Token{Access: "an-access-token", Type: "DPoP"}, DPoPKey: dpopKey(t)}
	want := assert.Value(thumbprint(g.DPoPKey))(t)
	seen := map[any]bool{}
	for _, test := range []struct {
		method string
		body   []byte
	}{
		{"POST", []byte(`{"jsonrpc":"2.0","method":"tools/list","id":1}`)},
		{"GET", nil},
		{"DELETE", nil},
	} {
		header := http.Header{"Authorization": {"Bearer old"}, "Dpop": {"old"}}
		assert.OK(t, g.Authorize(header, test.method, "https://mcp.example/mcp?x=1", test.body, "n-1"))
		got := header.Values("Authorization")
		assert.Equal(t, [...]any{len(got), got[0]}, [...]any{1, "DPoP an-access-token"}, "Authorization")
		if len(header.Values("DPoP")) != 1 {
			t.Fatalf("DPoP %q", header.Values("DPoP"))
		}
		claims, print := openProof(t, header.Get("DPoP"))
		assert.Equal(t, print, want, "thumbprint")
		assert.Equal(t, [...]any{claims["htm"], claims["htu"], claims["nonce"], claims["ath"], claims["content_digest"]},
			[...]any{test.method, "https://mcp.example/mcp", "n-1", tokenHash("an-access-token"), contentDigest(test.body)}, "claims")
		if seen[claims["jti"]] {
			t.Error("jti was used before")
		}
		seen[claims["jti"]] = true
	}
}

func TestAuthorizeWithoutAProof(t *testing.T) {
	g := &TokenSet{Token: Token{Access: "an-access-token", Type: "Bearer"}}
	header := http.Header{"Dpop": {"of another grant"}}
	assert.OK(t, g.Authorize(header, "POST", "https://mcp.example/mcp", []byte("{}"), "n"))
	assert.Equal(t, [...]any{header.Get("Authorization"), header.Get("DPoP")}, [...]any{"Bearer an-access-token", ""}, "header")
}

func TestAuthorizeFailsWithoutShowingSecrets(t *testing.T) {
	canary := "c4n4ry" + rand.Text()
	p384 := assert.Value(x509.MarshalPKCS8PrivateKey(ecdsaKey(t, elliptic.P384())))(t)
	good := dpopKey(t)
	for name, test := range map[string]struct {
		key    Secret
		target string
	}{
		"no key":      {"", "https://mcp.example/mcp"},
		"no base64":   {Secret(canary + "%"), "https://mcp.example/mcp"},
		"no PKCS #8":  {Secret(base64.StdEncoding.EncodeToString([]byte(canary))), "https://mcp.example/mcp"},
		"other curve": {Secret(base64.StdEncoding.EncodeToString(p384)), "https://mcp.example/mcp"},
		"no target":   {good, "/mcp?" + canary},
	} {
		t.Run(name, func(t *testing.T) {
			g := &TokenSet{
				Authority: Authority{Resource: "https://mcp.example/mcp?key=" + canary},
				Token:     Token{Access: Secret(canary), Type: "DPoP"},
				DPoPKey:   test.key,
			}
			header := http.Header{}
			err := g.Authorize(header, "POST", test.target, nil, "n")
			problem := assert.As[*ProofError](t, err)
			assert.Equal(t, problem.Server, "mcp.example", "problem")
			assert.Equal(t, len(header), 0, "header")
			assert.Lacks(t, fmt.Sprintf("%v %+v %#v", err, problem, problem), canary, "the error shows a secret")
		})
	}
	assert.As[*ProofError](t, (&TokenSet{Token: Token{Access: "a"}}).Authorize(nil, "POST", "https://mcp.example", nil, ""))
	assert.As[*ProofError](t, (&TokenSet{Token: Token{Type: "Bearer"}}).Authorize(http.Header{}, "POST", "https://mcp.example", nil, ""))
	assert.Equal(t, assert.As[*ProofError](t, errOf((&Flow{config: Config{Server: "files"}}).proof("", "POST", "https://as.example", ""))).Server, "files", "no key")
}

// A nonce that is none must not keep all further requests from being made.
func TestAuthorizeLeavesOutWhatIsNoNonce(t *testing.T) {
	g := &TokenSet{Token: Token{Access: "AT", Type: "DPoP"}, DPoPKey: dpopKey(t)}
	f := &Flow{config: Config{Server: "files"}}
	for _, nonce := range []string{strings.Repeat("n", maxNonce+1), "n\r\nX: y", `n"`, `n\`, "n n", "nü", "n\x7f"} {
		header := http.Header{}
		assert.OK(t, g.Authorize(header, "POST", "https://mcp.example/mcp", nil, nonce), "%q", nonce)
		claims, _ := openProof(t, header.Get("DPoP"))
		assert.Equal(t, any(claims["nonce"]), nil, "%q: sent", nonce)
		_, err := f.proof(g.DPoPKey, "POST", "https://as.example/token", nonce)
		assert.As[*ProofError](t, err, "%q, to the authorization server", nonce)
		assert.Lacks(t, err.Error(), nonce, "%q, to the authorization server", nonce)
	}
	longest := strings.Repeat("~", maxNonce)
	header := http.Header{}
	assert.OK(t, g.Authorize(header, "POST", "https://mcp.example/mcp", nil, longest))
	claims, _ := openProof(t, header.Get("DPoP"))
	assert.Equal(t, claims["nonce"], any(longest), "nonce")
}

func BenchmarkAuthorize(b *testing.B) {
	g := &TokenSet{Token: Token{Access: "an-access-token", Type: "DPoP"}, DPoPKey: dpopKey(b)}
	header, body := http.Header{}, make([]byte, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, g.Authorize(header, "POST", "https://mcp.example/mcp", body, ""))
	}
}
