//go:build unix

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// signToken returns a token of a user that a program has signed.
func signToken(key, user string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":%q,"exp":%d}`, user, time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// Serve lets in those with a token of an issuer, and its API those with a token that a program has signed.
func TestServeTokens(t *testing.T) {
	as := authtest.NewServer(t, nil)
	w := newWorld(t, labServer)
	key := strings.Repeat("k", 32)
	w.write("jwt.key", key+"\n")
	s := serve(t, w, "--issuer", as.Issuer, "--audience", "belt", "--jwt-key-file", filepath.Join(w.dir, "jwt.key"))
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for token, want := range map[string]int{
		as.IDToken("belt", "ada"):  http.StatusOK,
		as.IDToken("other", "ada"): http.StatusUnauthorized,
		signToken(key, "ada"):      http.StatusUnauthorized, // which is for the API
		as.IDToken("belt", ""):     http.StatusUnauthorized,
		s.Key:                      http.StatusOK,
	} {
		assert.Equal(t, post(t, s.URL, token, "", initialize).StatusCode, want, "%.60s", token)
	}
	assert.Contains(t, post(t, s.URL, "", "", initialize).Header.Get("WWW-Authenticate"), "/.well-known/oauth-protected-resource/mcp")
	me := ask(t, signToken(key, "ada"), "GET", s.base+"/api/v1/me", "")
	assert.Equal(t, me.status, http.StatusOK)
	assert.Contains(t, me.body, `"user":"ada"`)
	assert.Contains(t, me.body, `"stdio:write"`)
	for _, token := range []string{signToken(key+"x", "ada"), as.IDToken("belt", "ada")} {
		assert.Equal(t, ask(t, token, "GET", s.base+"/api/v1/me", "").status, http.StatusUnauthorized, "%.60s", token)
	}
}
