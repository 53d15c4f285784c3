package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const loginURI = "http://127.0.0.1:4711/callback"

// A journey is a user's way through all steps, at an authorization server that
// checks everything.
type journey struct {
	flow      *auth.Flow
	authority *auth.Authority
	client    *auth.Client
	pending   *auth.Pending
	as        *authtest.Server
}

func setOut(t testing.TB, o *authtest.Options, change func(c *auth.Config, as *authtest.Server)) *journey {
	t.Helper()
	as := authtest.NewServer(t, o)
	c := &auth.Config{Server: "files", URL: as.Protect(http.NotFoundHandler(), nil).URL}
	c.Network.TLS = as.TLS()
	if change != nil {
		change(c, as)
	}
	l := &journey{as: as}
	var err error
	l.flow, err = auth.New(c)
	assert.OK(t, err)
	t.Cleanup(l.flow.Close)
	l.authority, err = l.flow.Discover(t.Context(), nil)
	assert.OK(t, err)
	l.client, err = l.flow.Register(t.Context(), l.authority, loginURI, nil)
	assert.OK(t, err)
	l.pending, err = l.flow.Begin(l.authority, l.client, loginURI, []string{"read"})
	assert.OK(t, err)
	return l
}

// complete has the user agree.
func (l *journey) complete(t testing.TB) (*auth.TokenSet, error) {
	t.Helper()
	callback := assert.Value(l.as.Approve(t.Context(), l.pending.URL))(t)
	return l.flow.Complete(t.Context(), l.pending, callback)
}

// keepsSecretsOf fails if an error shows what the authorization server has issued
// or the client has made up.
func keepsSecretsOf(t testing.TB, as *authtest.Server, err error) {
	t.Helper()
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	for _, secret := range as.Secrets() {
		assert.Lacks(t, text, secret, "shows %q", secret)
	}
}

// TestLogins logs in, renews twice and logs out, in each way that a client can be
// known by.
func TestLogins(t *testing.T) {
	const id, secret = "client:1 +ä%/", "se:cret &=+%ü~"
	own := func(method string) func(*auth.Config, *authtest.Server) {
		return func(c *auth.Config, as *authtest.Server) {
			c.Client = &auth.Client{Issuer: as.Issuer, ID: id, Secret: secret, AuthMethod: method}
		}
	}
	given := func(method string) *authtest.Options {
		return &authtest.Options{Clients: []authtest.Client{{ID: id, Secret: secret, AuthMethod: method, RedirectURIs: []string{loginURI}}}}
	}
	key := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	documents := func(_ context.Context, address string) ([]byte, error) {
		return json.Marshal(map[string]any{"client_id": address, "client_name": "Agent", "redirect_uris": []string{loginURI}})
	}
	for name, c := range map[string]struct {
		options *authtest.Options
		change  func(*auth.Config, *authtest.Server)
	}{
		"registered":                 {nil, nil},
		"registered, with a path":    {&authtest.Options{Path: "/tenant1"}, nil},
		"registered, over TLS":       {&authtest.Options{TLS: true}, nil},
		"registered, OpenID Connect": {&authtest.Options{Path: "/tenant1", Discovery: authtest.OpenIDAppended}, nil},
		"registered, by basic":       {&authtest.Options{ClientAuth: "client_secret_basic"}, nil},
		"registered, by post":        {&authtest.Options{ClientAuth: "client_secret_post"}, nil},
		"own, by basic":              {given("client_secret_basic"), own("client_secret_basic")},
		"own, by post":               {given("client_secret_post"), own("client_secret_post")},
		"own, by what is listed":     {given("client_secret_basic"), own("")},
		"own, by key": {
			&authtest.Options{Clients: []authtest.Client{{ID: id, Keys: []crypto.PublicKey{key.Public()}, RedirectURIs: []string{loginURI}}}},
			func(c *auth.Config, as *authtest.Server) {
				c.Client, c.SigningKey = &auth.Client{Issuer: as.Issuer, ID: id}, &auth.SigningKey{Signer: key}
			},
		},
		"by metadata document": {
			&authtest.Options{Documents: documents, NoRegistration: true},
			func(c *auth.Config, _ *authtest.Server) {
				c.ClientMetadataURL = "https://agent.example.com/client.json"
			},
		},
		"no issuer in responses":      {&authtest.Options{Iss: authtest.IssAbsent}, nil},
		"issuer not announced":        {&authtest.Options{Iss: authtest.IssUnadvertised}, nil},
		"refresh token is kept":       {&authtest.Options{Refresh: authtest.RefreshKept}, nil},
		"resource parameter refused":  {&authtest.Options{Resource: authtest.ResourceRefused}, func(c *auth.Config, _ *authtest.Server) { c.NoResource = true }},
		"tokens bound to a key":       {&authtest.Options{DPoP: authtest.DPoPRequired}, func(c *auth.Config, _ *authtest.Server) { c.DPoP = true }},
		"tokens bound, with nonces":   {&authtest.Options{DPoP: authtest.DPoPSupported, DPoPNonce: true}, func(c *auth.Config, _ *authtest.Server) { c.DPoP = true }},
		"fewer scopes than asked for": {&authtest.Options{GrantScopes: func(string, []string) []string { return []string{"less"} }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := setOut(t, c.options, c.change)
			g, err := l.complete(t)
			assert.OK(t, err)
			scope := "read"
			if name == "fewer scopes than asked for" {
				scope = "less"
			}
			assert.Equal(t, [...]any{g.Token.Access == "", g.Token.Refresh == "", g.Token.Expires.IsZero(), fmt.Sprint(g.Scopes)},
				[...]any{false, false, false, "[" + scope + "]"})
			for range 2 {
				fresh := assert.Value(l.flow.Refresh(t.Context(), g))(t)
				assert.Equal(t, fresh.Token.Access != g.Token.Access, true, "the same token again")
				g = fresh
			}
			assert.OK(t, l.flow.Revoke(t.Context(), g))
			_, err = l.flow.Refresh(t.Context(), g)
			assert.Equal(t, assert.As[*auth.OAuthError](t, err).Code, "invalid_grant", "after it was revoked")
			keepsSecretsOf(t, l.as, err)
		})
	}
}

// TestResponsesOfOthers: no code is sent anywhere if the response names another
// issuer, or none where one was announced.
func TestResponsesOfOthers(t *testing.T) {
	for _, iss := range []authtest.Iss{authtest.IssWrong, authtest.IssWrongUnadvertised, authtest.IssMissing} {
		l := setOut(t, &authtest.Options{Iss: iss}, nil)
		_, err := l.complete(t)
		assert.Equal(t, assert.As[*auth.IssuerMismatchError](t, err, "%v", iss).What, "response", "%v", iss)
		assert.Equal(t, l.as.Count(authtest.TokenEndpoint), 0, "%v", iss)
		keepsSecretsOf(t, l.as, err)
	}
}

// TestLoginIsCompletedOnce: the authorization server takes each code once.
func TestLoginIsCompletedOnce(t *testing.T) {
	l := setOut(t, nil, nil)
	callback := assert.Value(l.as.Approve(t.Context(), l.pending.URL))(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range 8 {
		all.Go(func() {
			_, err := l.flow.Complete(t.Context(), l.pending, callback)
			mu.Lock()
			defer mu.Unlock()
			var refused *auth.OAuthError
			switch {
			case err == nil:
				done++
			case !errors.As(err, &refused) || refused.Code != "invalid_grant":
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	assert.Equal(t, done <= 1, true, "completed")
}

// TestRegistrationIsGone: an authorization server that has forgotten a client is
// told apart, and the client registered anew.
func TestRegistrationIsGone(t *testing.T) {
	l := setOut(t, nil, nil)
	g, err := l.complete(t)
	assert.OK(t, err)
	l.as.Purge()
	_, err = l.flow.Refresh(t.Context(), g)
	assert.Equal(t, assert.As[*auth.OAuthError](t, err).Code, "invalid_client")
	again, err := l.flow.Register(t.Context(), l.authority, loginURI, nil)
	assert.OK(t, err)
	assert.Equal(t, again.ID != l.client.ID, true, "has the same client again")
	l.pending, err = l.flow.Begin(l.authority, again, loginURI, nil)
	assert.OK(t, err)
	_, err = l.complete(t)
	assert.OK(t, err)
}
