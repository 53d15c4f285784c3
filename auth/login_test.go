package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
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
			g := assert.Value(l.complete(t))(t)
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
			_, err := l.flow.Refresh(t.Context(), g)
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
	g := assert.Value(l.complete(t))(t)
	l.as.Purge()
	_, err := l.flow.Refresh(t.Context(), g)
	assert.Equal(t, assert.As[*auth.OAuthError](t, err).Code, "invalid_client")
	again := assert.Value(l.flow.Register(t.Context(), l.authority, loginURI, nil))(t)
	assert.Equal(t, again.ID != l.client.ID, true, "has the same client again")
	l.pending, err = l.flow.Begin(l.authority, again, loginURI, nil)
	assert.OK(t, err)
	assert.Value(l.complete(t))(t)
}

// The tests of this file log in at a server that shares no code with the
// package and takes nothing that is not as the specifications want it.

// A visit is a login at a resource, and what it needs.
type visit struct {
	flow      *auth.Flow
	authority *auth.Authority
	client    *auth.Client
	at        *authtest.Resource
}

func newVisit(t *testing.T, at *authtest.Resource, c auth.Config) *visit {
	t.Helper()
	c.Server, c.URL = "files", at.URL
	flow := assert.Value(auth.New(&c))(t)
	t.Cleanup(flow.Close)
	authority := assert.Value(flow.Discover(t.Context(), nil))(t)
	client := assert.Value(flow.Register(t.Context(), authority, "", nil))(t)
	return &visit{flow, authority, client, at}
}

// enter makes a request with a grant, once more if another nonce is wanted.
func (v *visit) enter(t *testing.T, g *auth.TokenSet) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	nonce := ""
	for range 2 {
		req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, v.at.URL, strings.NewReader(body)))(t)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		assert.OK(t, g.Authorize(req.Header, req.Method, v.at.URL, []byte(body), nonce))
		resp := assert.Value(http.DefaultClient.Do(req))(t)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		if nonce = resp.Header.Get("DPoP-Nonce"); nonce == "" {
			t.Fatalf("status %d: %s", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
		}
	}
	t.Fatal("not let in with the nonce")
}

func TestStrictClientCredentials(t *testing.T) {
	rsaKey := assert.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	ecKey := assert.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	assert.OK(t, err)
	for name, signer := range map[string]crypto.Signer{"secret": nil, "RSA": rsaKey, "ECDSA": ecKey, "Ed25519": edKey} {
		t.Run(name, func(t *testing.T) {
			known := authtest.Client{ID: "job", Secret: "s3 cret"}
			config := auth.Config{Grant: auth.ClientCredentials, Client: &auth.Client{ID: "job", Secret: "s3 cret"}}
			if signer != nil {
				known = authtest.Client{ID: "job", Keys: []crypto.PublicKey{signer.Public()}}
				config.Client.Secret = ""
				config.SigningKey = &auth.SigningKey{Signer: signer}
			}
			server := authtest.NewServer(t, &authtest.Options{Clients: []authtest.Client{known}})
			config.Client.Issuer = server.Issuer
			v := newVisit(t, server.NewMCP(nil), config)
			g := assert.Value(v.flow.Obtain(t.Context(), v.authority, v.client, []string{"read"}))(t)
			v.enter(t, g)
		})
	}
}

func TestStrictDPoP(t *testing.T) {
	server := authtest.NewServer(t, &authtest.Options{
		DPoP: authtest.DPoPRequired, DPoPNonce: true,
		Clients: []authtest.Client{{ID: "job", Secret: "s3cret"}},
	})
	at := server.NewMCP(&authtest.ResourceOptions{DPoPRequired: true, DPoPNonce: true})
	v := newVisit(t, at, auth.Config{ // which asks for no DPoP itself
		Grant:  auth.ClientCredentials,
		Client: &auth.Client{Issuer: server.Issuer, ID: "job", Secret: "s3cret"},
	})
	g := assert.Value(v.flow.Obtain(t.Context(), v.authority, v.client, nil))(t)
	assert.Equal(t, g.Token.Type, "DPoP", "token of type")
	v.enter(t, g)
	stored := assert.Value(g.MarshalBinary())(t)
	var again auth.TokenSet
	assert.OK(t, again.UnmarshalBinary(stored))
	at.ChangeNonce()
	v.enter(t, &again)
}

func TestStrictDevice(t *testing.T) {
	t.Parallel()
	server := authtest.NewServer(t, &authtest.Options{Device: &authtest.DeviceOptions{}, DPoP: authtest.DPoPSupported})
	v := newVisit(t, server.NewMCP(nil), auth.Config{Grant: auth.DeviceCode, DPoP: true})
	p := assert.Value(v.flow.BeginDevice(t.Context(), v.authority, v.client, []string{"read"}))(t)
	server.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Cut: true})
	assert.OK(t, server.ApproveDevice(p.Device.UserCode))
	g, err := v.flow.Poll(t.Context(), p)
	assert.OK(t, err)
	v.enter(t, g)
	g = assert.Value(v.flow.Refresh(t.Context(), g))(t)
	v.enter(t, g)
}

func TestStrictEnterprise(t *testing.T) {
	idp := authtest.NewServer(t, &authtest.Options{
		TokenExchange: true,
		Clients:       []authtest.Client{{ID: "at-the-idp", Secret: "s1"}},
		ClientAt:      func(string, string) string { return "at-the-as" },
	})
	server := authtest.NewServer(t, &authtest.Options{IdP: idp, Clients: []authtest.Client{{ID: "at-the-as", Secret: "s2"}}})
	for name, endpoint := range map[string]string{"looked up": "", "given": idp.URL(authtest.TokenEndpoint)} {
		t.Run(name, func(t *testing.T) {
			v := newVisit(t, server.NewMCP(nil), auth.Config{
				Grant:  auth.EnterpriseManaged,
				Client: &auth.Client{Issuer: server.Issuer, ID: "at-the-as", Secret: "s2"},
				Enterprise: &auth.Enterprise{
					Issuer:        idp.Issuer,
					TokenEndpoint: endpoint,
					Client:        auth.Client{ID: "at-the-idp", Secret: "s1"},
					SubjectToken: func(context.Context) (auth.Secret, error) {
						return auth.Secret(idp.IDToken("at-the-idp", "ann")), nil
					},
				},
			})
			g := assert.Value(v.flow.Obtain(t.Context(), v.authority, v.client, []string{"read"}))(t)
			v.enter(t, g)
			f, ok := server.Family(g.Token.Access.Reveal())
			assert.Equal(t, [...]any{ok, f.User, f.Resource}, [...]any{true, "ann", v.at.URL}, "login")
		})
	}
}

func TestStrictWorkload(t *testing.T) {
	server := authtest.NewServer(t, &authtest.Options{Assertion: func(jwt string) (string, error) {
		if jwt != "jwt of the platform" {
			return "", errors.New("unknown")
		}
		return "job-7", nil
	}})
	jwt := auth.Secret("jwt of the platform")
	v := newVisit(t, server.NewMCP(nil), auth.Config{
		Grant:     auth.WorkloadIdentity,
		Assertion: func(context.Context, string, string) (auth.Secret, error) { return jwt, nil },
	})
	g := assert.Value(v.flow.Obtain(t.Context(), v.authority, v.client, nil))(t)
	v.enter(t, g)
	jwt = "jwt of another"
	assert.Equal(t, assert.As[*auth.OAuthError](t, errOf(v.flow.Obtain(t.Context(), v.authority, v.client, nil))).Code, "invalid_grant")
	assert.Equal(t, server.Count(authtest.TokenEndpoint), 2, "token requests")
}
