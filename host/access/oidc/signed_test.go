package oidc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/access/oidc"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var secretKey = []byte("0123456789abcdef0123456789abcdef")

// signWith returns a token.
func signWith(method jose.SignatureAlgorithm, key []byte, claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: method, Key: key}, nil)
	if err != nil {
		panic(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		panic(err)
	}
	return token
}

// withToken returns a request with a token.
func withToken(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestSigned(t *testing.T) {
	authenticate := assert.Value(oidc.NewSigned(&oidc.SignedOptions{
		Key: secretKey, Issuer: "https://app.example", Audience: "belt",
		Grant: func(c *oidc.Claims) (*access.Grant, error) {
			return &access.Grant{Manage: string(c.All["role"]) == `"admin"`}, nil
		},
	}))(t)
	soon, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
	sign := func(change map[string]any) string {
		c := map[string]any{"sub": "ann", "jti": "7", "iss": "https://app.example", "aud": []string{"belt", "other"}, "exp": soon, "role": "admin"}
		for k, v := range change {
			if c[k] = v; v == nil {
				delete(c, k)
			}
		}
		return signWith(jose.HS256, secretKey, c)
	}
	good := sign(nil)
	parts := strings.Split(good, ".")
	const unsigned = "eyJhbGciOiJub25lIn0" // {"alg":"none"}
	for _, c := range []struct {
		what, token, reason, credential string
	}{
		{"good", good, "", "jwt:ann:7"},
		{"without id", sign(map[string]any{"jti": nil}), "", "jwt:ann"},
		{"expired", sign(map[string]any{"exp": past}), "expired", "jwt:ann:7"},
		{"endless", sign(map[string]any{"exp": nil}), "no claim exp", "jwt:ann:7"},
		{"not yet", sign(map[string]any{"nbf": soon}), "not valid yet", "jwt:ann:7"},
		{"from the future", sign(map[string]any{"iat": soon}), "future", "jwt:ann:7"},
		{"other issuer", sign(map[string]any{"iss": "https://evil.example"}), "(iss)", "jwt:ann:7"},
		{"other audience", sign(map[string]any{"aud": "other"}), "(aud)", "jwt:ann:7"},
		{"no user", sign(map[string]any{"sub": nil}), "names no user", "jwt::7"},
		{"user of another type", sign(map[string]any{"sub": 1}), "cannot be read", ""},
		{"other key", signWith(jose.HS256, []byte(strings.Repeat("x", 32)), map[string]any{"sub": "ann", "exp": soon}), "another signature", ""},
		{"other method", signWith(jose.HS512, []byte(strings.Repeat("x", 64)), map[string]any{"sub": "ann", "exp": soon}), "another method", ""},
		{"none", unsigned + "." + parts[1] + ".", "another method", ""},
		{"other claims", parts[0] + "." + strings.Split(sign(map[string]any{"sub": "root"}), ".")[1] + "." + parts[2], "another signature", ""},
		{"nonsense", "a.b.c", "cannot be read", ""},
		{"long", "a." + strings.Repeat("b", 20_000) + ".c", "too long", ""},
	} {
		caller, err := authenticate(withToken(c.token))
		if c.reason == "" {
			if err != nil {
				t.Errorf("%s: got %v, want no error", c.what, err)
				continue
			}
			assert.Equal(t, caller.User, "ann", "%s", c.what)
			assert.Equal(t, caller.Credential, c.credential, "%s", c.what)
			assert.True(t, caller.Grant.Manage, "%s: the grant to manage", c.what)
			continue
		}
		refused := assert.As[*access.RefusedError](t, err, "%s", c.what)
		assert.Contains(t, refused.Error(), c.reason, "%s: the reason", c.what)
		assert.Equal(t, refused.Credential, c.credential, "%s: the credential", c.what)
		_, signature, _ := strings.Cut(c.token, ".")
		assert.Lacks(t, err.Error(), signature, "%s", c.what)
	}
	for _, token := range []string{"", "belt_abc", "a.b"} {
		assert.Is(t, assert.Err(authenticate(withToken(token))), access.ErrUnrecognized, "%q", token)
	}
}

// Names of claims have one case, and what a token calls critical has to be understood.
func TestSignedOdd(t *testing.T) {
	authenticate := assert.Value(oidc.NewSigned(&oidc.SignedOptions{Key: secretKey, Audience: "belt"}))(t)
	claims := map[string]any{"sub": "ann", "aud": "belt", "exp": time.Now().Add(time.Hour).Unix()}
	for _, c := range []struct {
		what            string
		header          map[string]any
		members, reason string
	}{
		{"usual", nil, ``, ""},
		{"twice", nil, `,"sub":"root"`, "cannot be read"},
		{"two cases", nil, `,"Sub":"root"`, "another case"},
		{"another case", nil, `,"NBF":1`, "another case"},
		{"critical", map[string]any{"crit": []string{"x"}, "x": 1}, ``, "critical"},
		{"critical, known to go-jose", map[string]any{"crit": []string{"b64"}, "b64": true}, ``, "critical"},
	} {
		_, err := authenticate(withToken(signOdd(t, jose.HS256, secretKey, c.header, claims, c.members)))
		if c.reason == "" {
			assert.OK(t, err, "%s", c.what)
			continue
		}
		assert.Contains(t, assert.As[*access.RefusedError](t, err, "%s", c.what).Error(), c.reason, "%s: the reason", c.what)
	}
}

func TestWeakKeys(t *testing.T) {
	for _, o := range []*oidc.SignedOptions{nil, {}, {Key: secretKey[:31]}} {
		assert.Fails(t, assert.Err(oidc.NewSigned(o)), "%v", o)
	}
}

// The users of a web application manage servers with tokens that the application signs.
func ExampleNewSigned() {
	authenticate, err := oidc.NewSigned(&oidc.SignedOptions{Key: secretKey, Audience: "belt", Grant: func(*oidc.Claims) (*access.Grant, error) {
		return &access.Grant{Manage: true}, nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	token := signWith(jose.HS256, secretKey, map[string]any{"sub": "ann", "aud": "belt", "exp": time.Now().Add(time.Minute).Unix()})
	caller, err := authenticate(withToken(token)) // as admin.Handler does
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(caller.User, caller.Grant.Manage)
	// Output: ann true
}
