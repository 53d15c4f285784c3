package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func dpopKey(t testing.TB) Secret {
	t.Helper()
	key := assert.Value(newDPoPKey())(t)
	return key
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
	if header.Type != "dpop+jwt" || header.Algorithm != "ES256" {
		t.Fatalf("header %s", head)
	}
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
	if want := "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"; err != nil || got != want {
		t.Errorf("thumbprint %q (%v), want %q", got, err, want)
	}
}

// The token and its hash of RFC 9449, figures 12 and 13.
func TestTokenHash(t *testing.T) {
	got := tokenHash("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
	assert.Equal(t, got, "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo", "hash")
}

// The body and its digest of RFC 9530, appendix D.1.
func TestContentDigest(t *testing.T) {
	got := contentDigest([]byte("{\"hello\": \"world\"}\n"))
	assert.Equal(t, got, "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:", "digest")
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
		if claims["htm"] != "POST" || claims["htu"] != "https://as.example/token" {
			t.Errorf("claims %v", claims)
		}
		if got, has := claims["nonce"]; has != (nonce != "") || has && got != nonce {
			t.Errorf("nonce %v, want %q", got, nonce)
		}
		if at := int64(claims["iat"].(float64)); at < begin || at > time.Now().Unix() {
			t.Errorf("iat %d", at)
		}
		if id, _ := claims["jti"].(string); len(id) < 22 || seen[id] {
			t.Errorf("jti %q is short or was used before", id)
		}
		seen[claims["jti"]] = true
		if claims["ath"] != nil || claims["content_digest"] != nil {
			t.Errorf("claims that are for resources only: %v", claims)
		}
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
		if got, err := proofTarget(test.raw); err != nil || got != test.want {
			t.Errorf("%s: %q (%v), want %q", test.raw, got, err, test.want)
		}
	}
	for _, raw := range []string{"", "/mcp", "mcp.example/mcp", "ftp://mcp.example/", "https:///mcp", "https://mcp.example/%zz"} {
		if got, err := proofTarget(raw); err == nil {
			t.Errorf("%s: %q, want an error", raw, got)
		}
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
		if got := header.Values("Authorization"); len(got) != 1 || got[0] != "DPoP an-access-token" {
			t.Errorf("Authorization %q", got)
		}
		if len(header.Values("DPoP")) != 1 {
			t.Fatalf("DPoP %q", header.Values("DPoP"))
		}
		claims, print := openProof(t, header.Get("DPoP"))
		assert.Equal(t, print, want, "thumbprint")
		if claims["htm"] != test.method || claims["htu"] != "https://mcp.example/mcp" || claims["nonce"] != "n-1" ||
			claims["ath"] != tokenHash("an-access-token") || claims["content_digest"] != contentDigest(test.body) {
			t.Errorf("claims %v", claims)
		}
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
	if got := header.Get("Authorization"); got != "Bearer an-access-token" || header.Get("DPoP") != "" {
		t.Errorf("header %v", header)
	}
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
			var problem *ProofError
			if !errors.As(err, &problem) || problem.Server != "mcp.example" {
				t.Fatalf("error %v", err)
			}
			if len(header) > 0 {
				t.Errorf("header %v", header)
			}
			assert.Lacks(t, fmt.Sprintf("%v %+v %#v", err, problem, problem), canary, "the error shows a secret")
		})
	}
	var problem *ProofError
	if err := (&TokenSet{Token: Token{Access: "a"}}).Authorize(nil, "POST", "https://mcp.example", nil, ""); !errors.As(err, &problem) {
		t.Errorf("no header: %v", err)
	}
	if err := (&TokenSet{Token: Token{Type: "Bearer"}}).Authorize(http.Header{}, "POST", "https://mcp.example", nil, ""); !errors.As(err, &problem) {
		t.Errorf("no token: %v", err)
	}
	if _, err := (&Flow{config: Config{Server: "files"}}).proof("", "POST", "https://as.example", ""); !errors.As(err, &problem) || problem.Server != "files" {
		t.Errorf("no key: %v", err)
	}
}

// A nonce that is none must not keep all further requests from being made.
func TestAuthorizeLeavesOutWhatIsNoNonce(t *testing.T) {
	g := &TokenSet{Token: Token{Access: "AT", Type: "DPoP"}, DPoPKey: dpopKey(t)}
	f := &Flow{config: Config{Server: "files"}}
	for _, nonce := range []string{strings.Repeat("n", maxNonce+1), "n\r\nX: y", `n"`, `n\`, "n n", "nü", "n\x7f"} {
		header := http.Header{}
		if err := g.Authorize(header, "POST", "https://mcp.example/mcp", nil, nonce); err != nil {
			t.Fatalf("%q: %v", nonce, err)
		}
		if claims, _ := openProof(t, header.Get("DPoP")); claims["nonce"] != nil {
			t.Errorf("%q: sent as %q", nonce, claims["nonce"])
		}
		var problem *ProofError
		if _, err := f.proof(g.DPoPKey, "POST", "https://as.example/token", nonce); !errors.As(err, &problem) || strings.Contains(err.Error(), nonce) {
			t.Errorf("%q, to the authorization server: %v", nonce, err)
		}
	}
	longest := strings.Repeat("~", maxNonce)
	header := http.Header{}
	assert.OK(t, g.Authorize(header, "POST", "https://mcp.example/mcp", nil, longest))
	if claims, _ := openProof(t, header.Get("DPoP")); claims["nonce"] != longest {
		t.Errorf("nonce %v", claims["nonce"])
	}
}

func BenchmarkAuthorize(b *testing.B) {
	g := &TokenSet{Token: Token{Access: "an-access-token", Type: "DPoP"}, DPoPKey: dpopKey(b)}
	header, body := http.Header{}, make([]byte, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, g.Authorize(header, "POST", "https://mcp.example/mcp", body, ""))
	}
}
