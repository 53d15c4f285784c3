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
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	loginURI        = "http://127.0.0.1:4711/callback"
	announcesIssuer = "authorization_response_iss_parameter_supported"
)

// A loginTest has all that a login needs, at an authorization server that checks
// everything.
type loginTest struct {
	flow      *auth.Flow
	authority *auth.Authority
	client    *auth.Client
	pending   *auth.Pending
	as        *authtest.Server
}

func beginLogin(t testing.TB, o *authtest.Options, change func(c *auth.Config, as *authtest.Server)) *loginTest {
	t.Helper()
	as := authtest.NewServer(t, o)
	c := &auth.Config{Server: "files", URL: as.Protect(http.NotFoundHandler(), nil).URL}
	c.Network.TLS = as.Client().Transport.(*http.Transport).TLSClientConfig
	if change != nil {
		change(c, as)
	}
	l := &loginTest{as: as, flow: assert.Value(auth.New(c))(t)}
	t.Cleanup(l.flow.Close)
	l.authority = assert.Value(l.flow.Discover(t.Context(), nil))(t)
	l.client = assert.Value(l.flow.Register(t.Context(), l.authority, loginURI, nil, nil))(t)
	l.pending = assert.Value(l.flow.Begin(l.authority, l.client, loginURI, []string{"read"}))(t)
	return l
}

// complete has the user agree.
func (l *loginTest) complete(t testing.TB) (*auth.TokenSet, error) {
	t.Helper()
	callback := assert.Value(l.as.Approve(t.Context(), l.pending.URL))(t)
	return l.flow.Complete(t.Context(), l.pending, callback)
}

// keepsSecretsOf fails if an error shows what the authorization server has issued
// or the client has made up.
func keepsSecretsOf(t testing.TB, as *authtest.Server, err error) {
	t.Helper()
	assert.LacksAll(t, fmt.Sprintf("%v %+v %#v", err, err, err), as.Secrets()...)
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
		"registered":              {nil, nil},
		"registered, with a path": {&authtest.Options{Path: "/tenant1"}, nil},
		"registered, over TLS":    {&authtest.Options{TLS: true}, nil},
		"registered, by basic":    {&authtest.Options{ClientAuth: "client_secret_basic"}, nil},
		"registered, by post":     {&authtest.Options{ClientAuth: "client_secret_post"}, nil},
		"own, by basic":           {given("client_secret_basic"), own("client_secret_basic")},
		"own, by post":            {given("client_secret_post"), own("client_secret_post")},
		"own, by what is listed":  {given("client_secret_basic"), own("")},
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
		"issuer not announced":        {&authtest.Options{Metadata: func(d map[string]any) { delete(d, announcesIssuer) }}, nil},
		"refresh token is kept":       {&authtest.Options{KeepRefresh: true}, nil},
		"resource parameter refused":  {&authtest.Options{ResourceRefused: true}, func(c *auth.Config, _ *authtest.Server) { c.NoResource = true }},
		"tokens bound to a key":       {&authtest.Options{DPoP: true}, func(c *auth.Config, _ *authtest.Server) { c.DPoP = true }},
		"tokens bound, with nonces":   {&authtest.Options{DPoP: true, DPoPNonce: true}, func(c *auth.Config, _ *authtest.Server) { c.DPoP = true }},
		"fewer scopes than asked for": {&authtest.Options{GrantScopes: func(string, []string) []string { return []string{"less"} }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := beginLogin(t, c.options, c.change)
			g := assert.Value(l.complete(t))(t)
			scope := "read"
			if name == "fewer scopes than asked for" {
				scope = "less"
			}
			assert.Equal(t, fmt.Sprint(g.Scopes), "["+scope+"]", "scopes")
			assert.False(t, g.Token.Expires.IsZero(), "it does not expire")
			for range 2 {
				fresh := assert.Value(l.flow.Refresh(t.Context(), g))(t)
				assert.True(t, fresh.Token.Access != g.Token.Access, "the same token again")
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
	unannounced := &authtest.Options{Metadata: func(d map[string]any) { delete(d, announcesIssuer) }}
	for name, test := range map[string]struct {
		options *authtest.Options
		iss     []string
	}{
		"wrong": {nil, []string{"https://wrong.example"}}, "wrong, unannounced": {unannounced, []string{"https://wrong.example"}}, "missing": {nil, nil},
	} {
		l := beginLogin(t, test.options, nil)
		callback := assert.Value(url.Parse(assert.Value(l.as.Approve(t.Context(), l.pending.URL))(t)))(t)
		query := callback.Query()
		query["iss"] = test.iss
		callback.RawQuery = query.Encode()
		_, err := l.flow.Complete(t.Context(), l.pending, callback.String())
		assert.Contains(t, assert.As[*auth.IssuerMismatchError](t, err, "%s", name).Error(), "the response", "%s", name)
		assert.Equal(t, l.as.Count(authtest.TokenEndpoint), 0, "%s", name)
		keepsSecretsOf(t, l.as, err)
	}
}

// TestLoginIsCompletedOnce: the authorization server takes each code once.
func TestLoginIsCompletedOnce(t *testing.T) {
	l := beginLogin(t, nil, nil)
	callback := assert.Value(l.as.Approve(t.Context(), l.pending.URL))(t)
	errs := make(chan error)
	for range 8 {
		go func() { errs <- errOf(l.flow.Complete(t.Context(), l.pending, callback)) }()
	}
	done := 0
	for range 8 {
		if err := <-errs; err == nil {
			done++
		} else {
			assert.Equal(t, assert.As[*auth.OAuthError](t, err).Code, "invalid_grant")
		}
	}
	assert.True(t, done <= 1, "%d were completed", done)
}

// TestRegistrationIsGone: an authorization server that has forgotten a client is
// told apart, and the client registered anew.
func TestRegistrationIsGone(t *testing.T) {
	l := beginLogin(t, nil, nil)
	g := assert.Value(l.complete(t))(t)
	l.as.Purge()
	assert.Equal(t, assert.As[*auth.OAuthError](t, errOf(l.flow.Refresh(t.Context(), g))).Code, "invalid_client")
	again := assert.Value(l.flow.Register(t.Context(), l.authority, loginURI, nil, nil))(t)
	assert.True(t, again.ID != l.client.ID, "has the same client again")
	l.pending = assert.Value(l.flow.Begin(l.authority, again, loginURI, nil))(t)
	assert.Value(l.complete(t))(t)
}

// The tests of this file log in at a server that shares no code with the
// package and takes nothing that is not as the specifications want it.

// newClient returns what is needed to get a grant without a browser.
func newClient(t *testing.T, at *authtest.Resource, c auth.Config) *loginTest {
	t.Helper()
	c.Server, c.URL = "files", at.URL
	l := &loginTest{flow: assert.Value(auth.New(&c))(t)}
	t.Cleanup(l.flow.Close)
	l.authority = assert.Value(l.flow.Discover(t.Context(), nil))(t)
	l.client = assert.Value(l.flow.Register(t.Context(), l.authority, "", nil, nil))(t)
	return l
}

// obtain gets a grant without a browser, and calls the server with it.
func (l *loginTest) obtain(t *testing.T, scopes ...string) *auth.TokenSet {
	t.Helper()
	g := assert.Value(l.flow.Obtain(t.Context(), l.authority, l.client, scopes))(t)
	callServer(t, g)
	return g
}

// callServer makes a request with a grant, once more if another nonce is wanted.
func callServer(t *testing.T, g *auth.TokenSet) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	nonce, url := "", g.Authority.Resource
	for range 2 {
		req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		assert.OK(t, g.Authorize(req.Header, req.Method, url, []byte(body), nonce))
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
			newClient(t, server.NewMCP(nil), config).obtain(t, "read")
		})
	}
}

func TestStrictDPoP(t *testing.T) {
	server := authtest.NewServer(t, &authtest.Options{
		DPoP: true, DPoPNonce: true,
		Clients: []authtest.Client{{ID: "job", Secret: "s3cret"}},
	})
	at := server.NewMCP(&authtest.ResourceOptions{DPoPRequired: true})
	g := newClient(t, at, auth.Config{ // which asks for no DPoP itself
		Grant:  auth.ClientCredentials,
		Client: &auth.Client{Issuer: server.Issuer, ID: "job", Secret: "s3cret"},
	}).obtain(t)
	assert.Equal(t, g.Token.Type, "DPoP", "token of type")
	stored := assert.Value(g.MarshalBinary())(t)
	var again auth.TokenSet
	assert.OK(t, again.UnmarshalBinary(stored))
	callServer(t, &again)
}

func TestStrictDevice(t *testing.T) {
	server := authtest.NewServer(t, &authtest.Options{Device: time.Nanosecond, DPoP: true})
	v := newClient(t, server.NewMCP(nil), auth.Config{Grant: auth.DeviceCode, DPoP: true})
	p := assert.Value(v.flow.BeginDevice(t.Context(), v.authority, v.client, []string{"read"}))(t)
	server.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Cut: true})
	assert.OK(t, server.ApproveDevice(p.Device.UserCode))
	p.Device.Interval = time.Millisecond
	g := assert.Value(v.flow.Poll(t.Context(), p))(t)
	callServer(t, g)
	callServer(t, assert.Value(v.flow.Refresh(t.Context(), g))(t))
}

func TestStrictEnterprise(t *testing.T) {
	idp := authtest.NewServer(t, &authtest.Options{
		Clients: []authtest.Client{{ID: "app", Secret: "s1"}},
	})
	server := authtest.NewServer(t, &authtest.Options{IdP: idp, Clients: []authtest.Client{{ID: "app", Secret: "s2"}}})
	for name, endpoint := range map[string]string{"looked up": "", "given": idp.URL(authtest.TokenEndpoint)} {
		t.Run(name, func(t *testing.T) {
			at := server.NewMCP(nil)
			g := newClient(t, at, auth.Config{
				Grant:  auth.EnterpriseManaged,
				Client: &auth.Client{Issuer: server.Issuer, ID: "app", Secret: "s2"},
				Enterprise: &auth.Enterprise{
					Issuer:        idp.Issuer,
					TokenEndpoint: endpoint,
					Client:        auth.Client{ID: "app", Secret: "s1"},
					SubjectToken: func(context.Context) (auth.Secret, error) {
						return auth.Secret(idp.IDToken("app", "ann")), nil
					},
				},
			}).obtain(t, "read")
			f, _ := server.Family(g.Token.Access.Reveal())
			assert.Equal(t, f.User+" "+f.Resource, "ann "+at.URL, "login")
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
	v := newClient(t, server.NewMCP(nil), auth.Config{
		Grant:     auth.WorkloadIdentity,
		Assertion: func(context.Context, string, string) (auth.Secret, error) { return jwt, nil },
	})
	v.obtain(t)
	jwt = "jwt of another"
	assert.Equal(t, assert.As[*auth.OAuthError](t, errOf(v.flow.Obtain(t.Context(), v.authority, v.client, nil))).Code, "invalid_grant")
	assert.Equal(t, server.Count(authtest.TokenEndpoint), 2, "token requests")
}
