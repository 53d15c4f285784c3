package auth

import (
	"cmp"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The key of RFC 9449, figure 2, and its thumbprint of figure 11.
func TestThumbprint(t *testing.T) {
	key := jwk{Curve: "P-256", Type: "EC",
		X: "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
		Y: "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"}
	assert.Equal(t, assert.Value(key.thumbprint())(t), "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I", "thumbprint")
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
	key := dpopKey(t)
	want := assert.Value(thumbprint(key))(t)
	seen := map[any]bool{}
	for _, nonce := range []string{"", "eyJ7S_zG.eyJH0-Z.HX4w-7v"} {
		begin := time.Now().Unix()
		proof := assert.Value(prove(key, "https://as.example/token?tenant=1", proofClaims{Method: "POST", Nonce: nonce}, time.Now()))(t)
		claims, print := openProof(t, proof)
		assert.Equal(t, print, want, "thumbprint")
		wantFreshID(t, claims, seen)
		at := int64(claims["iat"].(float64))
		assert.True(t, begin <= at && at <= time.Now().Unix(), "it is of now")
		delete(claims, "jti")
		delete(claims, "iat")
		rest := members{"htm": "POST", "htu": "https://as.example/token"}
		if nonce != "" {
			rest["nonce"] = nonce
		}
		assert.Equal(t, fmt.Sprint(claims), fmt.Sprint(rest), "the other claims")
	}
}

// wantFreshID checks that claims have an ID that none had before.
func wantFreshID(t *testing.T, claims map[string]any, seen map[any]bool) {
	t.Helper()
	assert.True(t, len(fmt.Sprint(claims["jti"])) >= 22, "the ID %v is long enough", claims["jti"])
	assert.False(t, seen[claims["jti"]], "the ID was used before")
	seen[claims["jti"]] = true
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
		assert.Equal(t, fmt.Sprint(header.Values("Authorization")), "[DPoP an-access-token]", "Authorization")
		assert.Equal(t, len(header.Values("DPoP")), 1, "proofs")
		claims, print := openProof(t, header.Get("DPoP"))
		assert.Equal(t, print, want, "thumbprint")
		assert.Equal(t, [...]any{claims["htm"], claims["htu"], claims["nonce"], claims["ath"], claims["content_digest"]},
			[...]any{test.method, "https://mcp.example/mcp", "n-1", tokenHash("an-access-token"), contentDigest(test.body)}, "claims")
		wantFreshID(t, claims, seen)
	}
}

func TestAuthorizeWithoutAProof(t *testing.T) {
	g := &TokenSet{Token: Token{Access: "an-access-token", Type: "Bearer"}}
	header := http.Header{"Dpop": {"of another grant"}}
	assert.OK(t, g.Authorize(header, "POST", "https://mcp.example/mcp", []byte("{}"), "n"))
	assert.Equal(t, header.Get("Authorization"), "Bearer an-access-token", "Authorization")
	assert.Equal(t, header.Get("DPoP"), "", "proof")
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
			assert.Contains(t, err.Error(), `server "mcp.example": no proof`)
			assert.Equal(t, len(header), 0, "header")
			assert.Lacks(t, fmt.Sprintf("%v %+v", err, err), canary, "the error shows a secret")
		})
	}
	assert.Fails(t, (&TokenSet{Token: Token{Access: "a"}}).Authorize(nil, "POST", "https://mcp.example", nil, ""))
	assert.Fails(t, (&TokenSet{Token: Token{Type: "Bearer"}}).Authorize(http.Header{}, "POST", "https://mcp.example", nil, ""))
	assert.Contains(t, (&Flow{config: Config{Server: "files"}}).noProof(errNoClient).Error(), `server "files"`)
}

// A nonce that is none must not keep all further requests from being made.
func TestAuthorizeLeavesOutWhatIsNoNonce(t *testing.T) {
	g := &TokenSet{Token: Token{Access: "AT", Type: "DPoP"}, DPoPKey: dpopKey(t)}
	for _, nonce := range []string{strings.Repeat("n", maxNonce+1), "n\r\nX: y", `n"`, `n\`, "n n", "nü", "n\x7f"} {
		header := http.Header{}
		assert.OK(t, g.Authorize(header, "POST", "https://mcp.example/mcp", nil, nonce), "%q", nonce)
		claims, _ := openProof(t, header.Get("DPoP"))
		assert.Equal(t, claims["nonce"], nil, "%q: sent", nonce)
		_, err := prove(g.DPoPKey, "https://as.example/token", proofClaims{Method: "POST", Nonce: nonce}, time.Now())
		assert.Fails(t, err, "%q, to the authorization server", nonce)
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

func TestAssertionIsSignedByEveryAlgorithm(t *testing.T) {
	for _, test := range []struct {
		signer crypto.Signer
		want   string
	}{
		{rsaKey(), "RS256"},
		{ecdsaKey(t, elliptic.P256()), "ES256"},
		{ecdsaKey(t, elliptic.P384()), "ES384"},
		{ecdsaKey(t, elliptic.P521()), "ES512"},
		{ed25519Key(t), "EdDSA"},
	} {
		t.Run(test.want, func(t *testing.T) {
			k := &SigningKey{Signer: test.signer, ID: "key 1"}
			assert.OK(t, k.check())
			now := time.Unix(1_700_000_000, 0)
			seen := map[any]bool{}
			for range assert.Cases(2, 20) { // r and s are sometimes short
				token := assert.Value(k.assertion("client \"1\"", "https://as.example/", now))(t)
				header, claims := openJWT(t, token.Reveal(), test.signer.Public())
				assert.Equal(t, fmt.Sprint(header), fmt.Sprint(members{"alg": test.want, "kid": "key 1", "typ": "JWT"}), "header")
				wantFreshID(t, claims, seen)
				lifetime := claims["exp"].(float64) - claims["iat"].(float64)
				assert.True(t, 0 < lifetime && lifetime <= 300, "good for %v seconds", lifetime)
				delete(claims, "jti")
				delete(claims, "exp")
				rest := members{"iss": "client \"1\"", "sub": "client \"1\"", "aud": "https://as.example/", "iat": 1_700_000_000.}
				assert.Equal(t, fmt.Sprint(claims), fmt.Sprint(rest), "the other claims")
			}
		})
	}
}

func TestAssertionWithoutKeyID(t *testing.T) {
	key := ecdsaKey(t, elliptic.P256())
	token := assert.Value((&SigningKey{Signer: key}).assertion("c", "https://as.example", time.Now()))(t)
	header, _ := openJWT(t, token.Reveal(), key.Public())
	assert.Equal(t, len(header), 2, "header")
}

// A signer signs as told.
type signer struct {
	public crypto.PublicKey
	sign   func() ([]byte, error)
}

func (s signer) Public() crypto.PublicKey { return s.public }

func (s signer) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { return s.sign() }

func TestUnusableSigningKeys(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip(err) // FIPS mode
	}
	for name, test := range map[string]struct {
		key  SigningKey
		want string
	}{
		"none":          {SigningKey{}, "missing"},
		"nil RSA":       {SigningKey{Signer: (*rsa.PrivateKey)(nil)}, "missing"},
		"empty RSA":     {SigningKey{Signer: &rsa.PrivateKey{}}, "2048"},
		"small RSA":     {SigningKey{Signer: small}, "2048"},
		"empty ECDSA":   {SigningKey{Signer: &ecdsa.PrivateKey{}}, "another curve"},
		"P-224":         {SigningKey{Signer: ecdsaKey(t, elliptic.P224())}, "P-256"},
		"short Ed25519": {SigningKey{Signer: ed25519.PrivateKey("short")}, "5 bytes"},
		"other":         {SigningKey{Signer: signer{public: "x"}}, "of type string"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{test.key.check(), errOf(test.key.assertion("c", "https://as.example", time.Now()))} {
				assert.Contains(t, fmt.Sprint(err), test.want)
			}
		})
	}
}

func TestSignersThatGiveNoSignature(t *testing.T) {
	public := ecdsaKey(t, elliptic.P256()).Public()
	pair := func(r, s *big.Int) []byte {
		return assert.Value(asn1.Marshal(struct{ R, S *big.Int }{r, s}))(t)
	}
	one, large := big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 256)
	for name, der := range map[string][]byte{
		"nothing": nil, "garbage": []byte("garbage"), "raw form": make([]byte, 64), "zero": pair(new(big.Int), one),
		"negative": pair(one, big.NewInt(-1)), "large": pair(large, one), "trailing": append(pair(one, one), 0),
	} {
		k := &SigningKey{Signer: signer{public, func() ([]byte, error) { return der, nil }}}
		assert.Fails(t, errOf(k.assertion("c", "a", time.Now())), "%s", name)
	}
	away := errors.New("the token is unplugged")
	k := &SigningKey{Signer: signer{public, func() ([]byte, error) { return nil, away }}}
	assert.Is(t, errOf(k.assertion("c", "a", time.Now())), away)
}

func TestParsePrivateKey(t *testing.T) {
	ec, ed := ecdsaKey(t, elliptic.P256()), ed25519Key(t)
	pkcs8 := func(key any) []byte {
		return assert.Value(x509.MarshalPKCS8PrivateKey(key))(t)
	}
	sec1 := assert.Value(x509.MarshalECPrivateKey(ec))(t)
	for name, test := range map[string]struct {
		kind string
		der  []byte
		want crypto.Signer
	}{
		"PKCS #8 RSA":     {"PRIVATE KEY", pkcs8(rsaKey()), rsaKey()},
		"PKCS #8 EC":      {"PRIVATE KEY", pkcs8(ec), ec},
		"PKCS #8 Ed25519": {"PRIVATE KEY", pkcs8(ed), ed},
		"PKCS #1":         {"RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey()), rsaKey()},
		"SEC 1":           {"EC PRIVATE KEY", sec1, ec},
	} {
		t.Run(name, func(t *testing.T) {
			text := pem.EncodeToMemory(&pem.Block{Type: test.kind, Bytes: test.der})
			// What openssl ecparam writes before the key, and a comment.
			text = append(append([]byte("a comment\n"), pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6}})...), text...)
			got := assert.Value(ParsePrivateKey(text))(t).(interface{ Equal(crypto.PrivateKey) bool })
			assert.True(t, got.Equal(test.want), "it is the key")
		})
	}
}

func TestParsePrivateKeyRefuses(t *testing.T) {
	canary := "c4n4ry" + rand.Text()
	block := func(kind, content string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(content)}))
	}
	x25519 := assert.Value(ecdh.X25519().GenerateKey(rand.Reader))(t)
	agreement := assert.Value(x509.MarshalPKCS8PrivateKey(x25519))(t)
	p224 := assert.Value(x509.MarshalECPrivateKey(ecdsaKey(t, elliptic.P224())))(t)
	for name, test := range map[string]struct{ text, want string }{
		"nothing": {"", "no private key"}, "not PEM": {canary, "no private key"},
		"certificate": {block("CERTIFICATE", canary), "no private key"},
		"garbage":     {block("PRIVATE KEY", canary), "holds no"}, "PKCS #1": {block("RSA PRIVATE KEY", canary), "holds no"},
		"SEC 1":     {block("EC PRIVATE KEY", canary), "holds no"},
		"agreement": {block("PRIVATE KEY", string(agreement)), "holds no"},
		"P-224":     {block("EC PRIVATE KEY", string(p224)), "P-256"},
		"encrypted": {block("ENCRYPTED PRIVATE KEY", canary), "encrypted"},
		"OpenSSH":   {block("OPENSSH PRIVATE KEY", canary), "not supported"},
		"old encryption": {string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte(canary)})), "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errOf(ParsePrivateKey([]byte(test.text)))
			assert.Contains(t, fmt.Sprint(err), test.want)
			assert.Lacks(t, err.Error(), canary, "the error shows the text")
		})
	}
}

func TestAssertionForAnotherAudience(t *testing.T) {
	key := ecdsaKey(t, elliptic.P256())
	for _, audience := range []string{"", "https://as.example/token"} {
		token := assert.Value((&SigningKey{Signer: key, Audience: audience}).assertion("id", "https://as.example", time.Now()))(t)
		_, claims := openJWT(t, token.Reveal(), key.Public())
		assert.Equal(t, claims["aud"], any(cmp.Or(audience, "https://as.example")), "audience")
	}
}
