//go:build integration && unix

package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/npmdir"
)

// notes is an MCP server of the official SDK, protected by the SDK's middleware.
// It checks the tokens of the provider by itself: they are JWTs.
type notes struct {
	url      string
	provider *provider
	keys     map[string]*rsa.PublicKey

	mu     sync.Mutex // guards the following
	seen   []string   // tokens, each once
	denied map[string]bool
}

// serveNotes starts the server and its provider.
func serveNotes(t *testing.T) *notes {
	t.Helper()
	mux := http.NewServeMux()
	listener := httptest.NewServer(mux)
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	t.Cleanup(func() {
		for session := range server.Sessions() { // who is logged out cannot end their
			_ = session.Close()
		}
		listener.Close()
	})
	n := &notes{url: listener.URL + "/mcp", keys: make(map[string]*rsa.PublicKey), denied: make(map[string]bool)}
	n.provider = provide(t, n.url)
	n.learnKeys(t)

	sdk.AddTool(server, &sdk.Tool{Name: "whoami", Description: "Who is logged in."},
		func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: req.Extra.TokenInfo.UserID}}}, nil, nil
		})
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: n.url, AuthorizationServers: []string{n.provider.issuer}, ScopesSupported: []string{"notes:read"},
	}))
	protect := auth.RequireBearerToken(n.verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: listener.URL + metadata, Scopes: []string{"notes:read"},
	})
	mux.Handle("/mcp", protect(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
	return n
}

// learnKeys asks the provider for its public keys.
func (n *notes) learnKeys(t *testing.T) {
	t.Helper()
	var metadata struct {
		URI string `json:"jwks_uri"`
	}
	n.provider.get(t, "/.well-known/openid-configuration", &metadata)
	var set struct {
		Keys []struct{ Kty, Kid, N, E string }
	}
	n.provider.get(t, strings.TrimPrefix(metadata.URI, n.provider.issuer), &set)
	for _, key := range set.Keys {
		modulus, err1 := base64.RawURLEncoding.DecodeString(key.N)
		exponent, err2 := base64.RawURLEncoding.DecodeString(key.E)
		if key.Kty == "RSA" && err1 == nil && err2 == nil {
			n.keys[key.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: int(new(big.Int).SetBytes(exponent).Int64())}
		}
	}
}

// verify checks an access token (RFC 9068).
func (n *notes) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	invalid := func(why string) (*auth.TokenInfo, error) { return nil, fmt.Errorf("%w: %s", auth.ErrInvalidToken, why) }
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return invalid("no JWT")
	}
	var header struct{ Alg, Kid, Typ string }
	var claims struct {
		Iss, Aud, Sub, Scope string
		Exp                  int64
	}
	for i, part := range []any{&header, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(text, part) != nil {
			return invalid("not readable")
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	key := n.keys[header.Kid]
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	switch {
	case err != nil || key == nil || header.Alg != "RS256" || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) != nil:
		return invalid("wrong signature")
	case claims.Iss != n.provider.issuer || claims.Aud != n.url || header.Typ != "at+jwt":
		return invalid("not for this server")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.denied[token] {
		return invalid("denied")
	}
	if !slices.Contains(n.seen, token) {
		n.seen = append(n.seen, token)
	}
	return &auth.TokenInfo{Scopes: strings.Fields(claims.Scope), Expiration: time.Unix(claims.Exp, 0), UserID: claims.Sub}, nil
}

// deny takes no token any more that it has seen, as if they had ended.
func (n *notes) deny() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, token := range n.seen {
		n.denied[token] = true
	}
}

// tokens returns how many tokens it has taken.
func (n *notes) tokens() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.seen)
}

// A provider is npm's oidc-provider: an authorization server that has nothing to
// do with this module.
type provider struct{ issuer string }

// provide starts a provider that issues tokens for a resource. It ends with the
// test.
func provide(t *testing.T, resource string) *provider {
	t.Helper()
	cache := assert.Value(filepath.Abs("../../bin/integration"))(t)
	dir := assert.Value(npmdir.Install(t.Context(), "testdata/npm", cache))(t)
	cmd := exec.Command("node", "testdata/authorization.mjs", filepath.Join(dir, "node_modules/oidc-provider/lib/index.js"), resource)
	log := new(bytes.Buffer)
	cmd.Stderr = log
	in := assert.Value(cmd.StdinPipe())(t)
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of the authorization server:\n%s", log)
		}
	})
	return &provider{strings.TrimSpace(assert.Value(bufio.NewReader(out).ReadString('\n'))(t))}
}

// events returns what has happened there, and how often.
func (p *provider) events(t *testing.T) map[string]int {
	t.Helper()
	events := make(map[string]int)
	p.get(t, "/events", &events)
	return events
}

// get gets a document of the provider.
func (p *provider) get(t *testing.T, path string, document any) {
	t.Helper()
	req := assert.Value(http.NewRequestWithContext(ctxFor(t), http.MethodGet, p.issuer+path, nil))(t)
	req.Close = true
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	assert.OK(t, json.NewDecoder(res.Body).Decode(document))
}
