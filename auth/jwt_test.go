package auth

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// rsaKey is made once: that takes a while.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
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

// openJWT checks the signature of a JWT with the standard library and returns its
// header and claims.
func openJWT(t testing.TB, token string, public crypto.PublicKey) (header, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("a JWT of %d parts", len(parts))
	}
	var raw [3][]byte
	for i, part := range parts {
		var err error
		raw[i], err = base64.RawURLEncoding.Strict().DecodeString(part)
		assert.OK(t, err, "part %d", i)
	}
	assert.OK(t, json.Unmarshal(raw[0], &header))
	assert.OK(t, json.Unmarshal(raw[1], &claims))
	input, signature := []byte(parts[0]+"."+parts[1]), raw[2]
	sum256, sum384, sum512 := sha256.Sum256(input), sha512.Sum384(input), sha512.Sum512(input)
	verify := func(digest []byte, size int) error {
		if len(signature) != 2*size {
			t.Fatalf("signature of %d bytes, want %d", len(signature), 2*size)
		}
		r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
		if !ecdsa.Verify(public.(*ecdsa.PublicKey), digest, r, s) {
			return errors.New("wrong signature")
		}
		return nil
	}
	pss := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}
	var err error
	switch alg := header["alg"]; alg {
	case "RS256":
		err = rsa.VerifyPKCS1v15(public.(*rsa.PublicKey), crypto.SHA256, sum256[:], signature)
	case "RS384":
		err = rsa.VerifyPKCS1v15(public.(*rsa.PublicKey), crypto.SHA384, sum384[:], signature)
	case "RS512":
		err = rsa.VerifyPKCS1v15(public.(*rsa.PublicKey), crypto.SHA512, sum512[:], signature)
	case "PS256":
		err = rsa.VerifyPSS(public.(*rsa.PublicKey), crypto.SHA256, sum256[:], signature, pss)
	case "PS384":
		err = rsa.VerifyPSS(public.(*rsa.PublicKey), crypto.SHA384, sum384[:], signature, pss)
	case "PS512":
		err = rsa.VerifyPSS(public.(*rsa.PublicKey), crypto.SHA512, sum512[:], signature, pss)
	case "ES256":
		err = verify(sum256[:], 32)
	case "ES384":
		err = verify(sum384[:], 48)
	case "ES512":
		err = verify(sum512[:], 66)
	case "EdDSA", "Ed25519":
		if !ed25519.Verify(public.(ed25519.PublicKey), input, signature) {
			err = errors.New("wrong signature")
		}
	default:
		t.Fatalf("algorithm %v", alg)
	}
	assert.OK(t, err, "%v", header["alg"])
	return header, claims
}

func TestAssertionIsSignedByEveryAlgorithm(t *testing.T) {
	p521 := ecdsaKey(t, elliptic.P521())
	for _, test := range []struct {
		signer      crypto.Signer
		asked, want string
	}{
		{rsaKey(), "", "RS256"},
		{rsaKey(), "RS384", "RS384"},
		{rsaKey(), "RS512", "RS512"},
		{rsaKey(), "PS256", "PS256"},
		{rsaKey(), "PS384", "PS384"},
		{rsaKey(), "PS512", "PS512"},
		{ecdsaKey(t, elliptic.P256()), "", "ES256"},
		{ecdsaKey(t, elliptic.P256()), "ES256", "ES256"},
		{ecdsaKey(t, elliptic.P384()), "", "ES384"},
		{p521, "", "ES512"},
		{ed25519Key(t), "", "EdDSA"},
		{ed25519Key(t), "EdDSA", "EdDSA"},
		{ed25519Key(t), "Ed25519", "Ed25519"},
	} {
		t.Run(test.want, func(t *testing.T) {
			k := &SigningKey{Signer: test.signer, ID: "key 1", Algorithm: test.asked}
			assert.OK(t, k.check())
			now := time.Unix(1_700_000_000, 0)
			seen := map[any]bool{}
			for range 20 { // r and s are sometimes short
				token := assert.Value(k.assertion("client \"1\"", "https://as.example/", now))(t)
				header, claims := openJWT(t, token.Reveal(), test.signer.Public())
				if header["alg"] != test.want || header["kid"] != "key 1" || header["typ"] != "JWT" || len(header) != 3 {
					t.Fatalf("header %v", header)
				}
				if claims["iss"] != "client \"1\"" || claims["sub"] != claims["iss"] ||
					claims["aud"] != "https://as.example/" || claims["iat"] != 1_700_000_000. || len(claims) != 6 {
					t.Fatalf("claims %v", claims)
				}
				life := claims["exp"].(float64) - claims["iat"].(float64)
				assert.Equal(t, [...]any{life <= 0, life > 300}, [...]any{false, false}, "good for")
				if id, _ := claims["jti"].(string); len(id) < 22 || seen[id] {
					t.Errorf("jti %q is short or was used before", id)
				}
				seen[claims["jti"]] = true
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
		"none":              {SigningKey{}, "missing"},
		"nil RSA":           {SigningKey{Signer: (*rsa.PrivateKey)(nil)}, "nil pointer"},
		"empty RSA":         {SigningKey{Signer: &rsa.PrivateKey{}}, "2048"},
		"small RSA":         {SigningKey{Signer: small}, "2048"},
		"empty ECDSA":       {SigningKey{Signer: &ecdsa.PrivateKey{}}, "without a curve"},
		"P-224":             {SigningKey{Signer: ecdsaKey(t, elliptic.P224())}, "P-256"},
		"short Ed25519":     {SigningKey{Signer: ed25519.PrivateKey("short")}, "5 bytes"},
		"other":             {SigningKey{Signer: signer{public: "x"}}, "of type string"},
		"wrong curve":       {SigningKey{Signer: ecdsaKey(t, elliptic.P384()), Algorithm: "ES256"}, "it can by ES384"},
		"wrong kind":        {SigningKey{Signer: rsaKey(), Algorithm: "ES256"}, "RS256, PS256"},
		"none as algorithm": {SigningKey{Signer: rsaKey(), Algorithm: "none"}, "cannot sign"},
		"symmetric":         {SigningKey{Signer: rsaKey(), Algorithm: "HS256"}, "cannot sign"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.key.check(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("check: %v, want %q", err, test.want)
			}
			token, err := test.key.assertion("c", "https://as.example", time.Now())
			assert.Fails(t, err, "assertion")
			assert.Contains(t, err.Error(), test.want, "assertion")
			assert.Equal(t, token, "", "assertion")
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
		"nothing":  nil,
		"garbage":  []byte("garbage"),
		"raw form": make([]byte, 64),
		"zero":     pair(new(big.Int), one),
		"negative": pair(one, big.NewInt(-1)),
		"large":    pair(large, one),
		"trailing": append(pair(one, one), 0),
	} {
		k := &SigningKey{Signer: signer{public, func() ([]byte, error) { return der, nil }}}
		token, err := k.assertion("c", "a", time.Now())
		assert.Fails(t, err, "%s: no", name)
		assert.Equal(t, token, "", "%s: no", name)
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
			got := assert.Value(ParsePrivateKey(text))(t)
			equal, ok := got.(interface{ Equal(crypto.PrivateKey) bool })
			assert.Equal(t, [...]any{ok, equal.Equal(test.want)}, [...]any{true, true}, "another key")
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
		"nothing":     {"", "no private key"},
		"not PEM":     {canary, "no private key"},
		"certificate": {block("CERTIFICATE", canary), "no private key"},
		"garbage":     {block("PRIVATE KEY", canary), "holds no"},
		"PKCS #1":     {block("RSA PRIVATE KEY", canary), "holds no"},
		"SEC 1":       {block("EC PRIVATE KEY", canary), "holds no"},
		"agreement":   {block("PRIVATE KEY", string(agreement)), "holds no"},
		"P-224":       {block("EC PRIVATE KEY", string(p224)), "P-256"},
		"encrypted":   {block("ENCRYPTED PRIVATE KEY", canary), "encrypted"},
		"OpenSSH":     {block("OPENSSH PRIVATE KEY", canary), "not supported"},
		"old encryption": {string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte(canary)})), "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := ParsePrivateKey([]byte(test.text))
			assert.Fails(t, err)
			assert.Equal(t, any(key), nil)
			assert.Contains(t, err.Error(), test.want)
			assert.Lacks(t, err.Error(), canary, "the error shows the text")
		})
	}
}

func TestAssertionForAnotherAudience(t *testing.T) {
	signer := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	for _, audience := range []string{"", "https://as.example/token"} {
		token := assert.Value((&SigningKey{Signer: signer, Audience: audience}).assertion("id", "https://as.example", time.Now()))(t)
		payload := assert.Value(base64.RawURLEncoding.DecodeString(strings.Split(token.Reveal(), ".")[1]))(t)
		want := "https://as.example" + strings.TrimPrefix(audience, "https://as.example")
		assert.Contains(t, string(payload), `"aud":"`+want+`"`, "audience %q", audience)
	}
}
