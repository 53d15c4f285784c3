package jwt_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	signer "github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin/jwt"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var key = []byte("0123456789abcdef0123456789abcdef")

// sign returns a token.
func sign(t *testing.T, method signer.SigningMethod, key any, claims signer.MapClaims) string {
	t.Helper()
	token := assert.Value(signer.NewWithClaims(method, claims).SignedString(key))(t)
	return token
}

// with returns a request with a token.
func with(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestTokens(t *testing.T) {
	authenticate := assert.Value(jwt.New(&jwt.Options{
		Key: key, Issuer: "https://app.example", Audience: "belt",
		Grant: func(claims map[string]any) *access.Grant { return &access.Grant{Manage: claims["role"] == "admin"} },
	}))(t)
	soon, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
	claims := func(change signer.MapClaims) signer.MapClaims {
		c := signer.MapClaims{"sub": "ann", "jti": "7", "iss": "https://app.example", "aud": []string{"belt", "other"}, "exp": soon, "role": "admin"}
		for k, v := range change {
			if c[k] = v; v == nil {
				delete(c, k)
			}
		}
		return c
	}
	good := sign(t, signer.SigningMethodHS256, key, claims(nil))
	root := sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"sub": "root"}))
	parts := strings.Split(good, ".")
	for _, c := range []struct {
		what, token, reason, credential string
	}{
		{"good", good, "", "jwt:ann:7"},
		{"without id", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"jti": nil})), "", "jwt:ann"},
		{"expired", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"exp": past})), "expired", "jwt:ann:7"},
		{"endless", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"exp": nil})), "lacks a claim", "jwt:ann:7"},
		{"not yet", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"nbf": soon})), "not valid yet", "jwt:ann:7"},
		{"from the future", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"iat": soon})), "later than now", "jwt:ann:7"},
		{"other issuer", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"iss": "https://evil.example"})), "another issuer", "jwt:ann:7"},
		{"other audience", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"aud": "other"})), "another audience", "jwt:ann:7"},
		{"no user", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"sub": nil})), "names no user", ""},
		{"user of another type", sign(t, signer.SigningMethodHS256, key, claims(signer.MapClaims{"sub": 1})), "names no user", ""},
		{"other key", sign(t, signer.SigningMethodHS256, []byte(strings.Repeat("x", 32)), claims(nil)), "another signature", ""},
		{"other method", sign(t, signer.SigningMethodHS512, key, claims(nil)), "another signature", ""},
		{"none", sign(t, signer.SigningMethodNone, signer.UnsafeAllowNoneSignatureType, claims(nil)), "another signature", ""},
		{"other claims", strings.Join([]string{parts[0], strings.Split(root, ".")[1], parts[2]}, "."), "another signature", ""},
		{"nonsense", "a.b.c", "cannot be read", ""},
		{"long", "a." + strings.Repeat("b", 20_000) + ".c", "too long", ""},
	} {
		caller, err := authenticate(with(c.token))
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
		var refused *access.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want that it is refused", c.what, err)
			continue
		}
		assert.Contains(t, refused.Reason, c.reason, "%s: the reason", c.what)
		assert.Equal(t, refused.Credential, c.credential, "%s: the credential", c.what)
		_, signature, _ := strings.Cut(c.token, ".")
		assert.Lacks(t, err.Error(), signature, "%s", c.what)
	}
	for _, token := range []string{"", "belt_abc", "a.b"} {
		_, err := authenticate(with(token))
		assert.Is(t, err, access.ErrUnrecognized, "%q", token)
	}
}

func TestWeakKeys(t *testing.T) {
	for _, o := range []*jwt.Options{nil, {}, {Key: key[:31]}} {
		_, err := jwt.New(o)
		assert.Fails(t, err, "%v", o)
	}
}

func ExampleNew() {
	authenticate, err := jwt.New(&jwt.Options{Key: key, Audience: "belt"})
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := signer.NewWithClaims(signer.SigningMethodHS256, signer.MapClaims{
		"sub": "ann", "aud": "belt", "exp": time.Now().Add(time.Minute).Unix(),
	}).SignedString(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodGet, "/api/v1/mcp/servers", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	caller, err := authenticate(r) // as admin.Handler does
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(caller.User)
	// Output: ann
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
