package auth

import (
	"context"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestClientCredentials(t *testing.T) {
	key := ecdsaKey(t, elliptic.P256())
	for name, test := range map[string]struct {
		client  Client
		key     *SigningKey
		methods []string
		check   func(t *testing.T, as *peer, got posted)
	}{
		"basic": {
			client: Client{ID: "a client:1", Secret: "s+1"},
			check:  func(t *testing.T, _ *peer, got posted) { wantBasic(t, got, "a+client%3A1", "s%2B1") },
		},
		"post": {
			client:  Client{ID: "c1", Secret: "s1"},
			methods: []string{"client_secret_post"},
			check: func(t *testing.T, _ *peer, got posted) {
				assert.Equal(t, got.form.Get("client_id")+got.form.Get("client_secret"), "c1s1", "client")
			},
		},
		"private_key_jwt": {
			client: Client{ID: "c1"},
			key:    &SigningKey{Signer: key, ID: "k1"},
			check: func(t *testing.T, as *peer, got posted) {
				assert.Equal(t, got.form.Get("client_assertion_type"), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "type")
				_, claims := openJWT(t, got.form.Get("client_assertion"), key.Public())
				assert.Equal(t, [...]any{claims["iss"], claims["sub"], claims["aud"]}, [...]any{"c1", "c1", as.url}, "claims")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			as := newPeer(t, sends(200, `{"access_token":"AT","token_type":"Bearer","scope":"read"}`))
			test.client.Issuer = as.url
			f := flow(t, Config{Grant: ClientCredentials, Client: &test.client, SigningKey: test.key})
			a := as.authority()
			a.AuthMethods = test.methods
			c := assert.Value(f.Register(t.Context(), a, "", nil, nil))(t)
			g := assert.Value(f.Obtain(t.Context(), a, c, []string{"read", "write"}))(t)
			got := as.only(t)
			assert.Equal(t, got.path+" "+got.form.Get("grant_type"), "/token client_credentials", "asked")
			assert.Equal(t, got.form.Get("scope")+" "+got.form.Get("resource"), "read write "+a.Resource, "asked")
			test.check(t, as, got)
			wantGrant(t, g, as, test.client.ID, "Bearer AT")
			assert.Equal(t, fmt.Sprint(g.DPoPKey.Reveal(), g.Scopes, g.Requested), "[read] [read write]", "grant")
		})
	}
}

func TestObtainBindsTheToken(t *testing.T) {
	as := newPeer(t, sendsWithNonce(t, `{"access_token":"AT","token_type":"DPoP"}`))
	client := &Client{Issuer: as.url, ID: "c1", Secret: "s1"}
	f := flow(t, Config{Grant: ClientCredentials, Client: client, DPoP: true})
	a := as.authority()
	assert.As[*metadataError](t, errOf(f.Obtain(t.Context(), a, client, nil)))
	assert.Equal(t, len(as.requests()), 0, "without DPoP at the authorization server")
	a.DPoPAlgorithms = []string{"ES256"}
	g := assert.Value(f.Obtain(t.Context(), a, client, nil))(t)
	assert.Equal(t, g.Token.Type, "DPoP", "grant")
	got := as.requests()
	assert.Equal(t, len(got), 2, "requests")
	assert.False(t, got[0].form.Has("scope"), "scope")
	want := assert.Value(thumbprint(g.DPoPKey))(t)
	for _, r := range got {
		claims, print := openProof(t, r.header.Get("DPoP"))
		assert.Equal(t, [...]any{print, claims["htu"], claims["content_digest"]}, [...]any{want, as.url + "/token", nil}, "claims")
	}
}

// An enterprise is a user's organisation: its identity provider and the server's
// authorization server.
type enterprise struct {
	idp, as *peer
	subject Secret
}

func newEnterprise(t testing.TB, idp http.HandlerFunc) *enterprise {
	return &enterprise{
		idp:     newPeer(t, idp),
		as:      newPeer(t, sends(200, `{"access_token":"AT","token_type":"Bearer"}`)),
		subject: "id.token.1",
	}
}

func (e *enterprise) config() Config {
	return Config{
		Grant:  EnterpriseManaged,
		Client: &Client{Issuer: e.as.url, ID: "at the as", Secret: "s-as"},
		Enterprise: &Enterprise{
			Issuer:        e.idp.url,
			TokenEndpoint: e.idp.url + "/token",
			Client:        Client{ID: "at-the-idp", Secret: "s-idp"},
			SubjectToken:  func(context.Context) (Secret, error) { return e.subject, nil },
		},
	}
}

const exchanged = `{"issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","access_token":"id.jag.1","token_type":"N_A","expires_in":300}`

func TestEnterpriseManaged(t *testing.T) {
	e := newEnterprise(t, sends(200, exchanged))
	f := flow(t, e.config())
	a := e.as.authority()
	c := assert.Value(f.Register(t.Context(), a, "", nil, nil))(t)
	g := assert.Value(f.Obtain(t.Context(), a, c, []string{"read"}))(t)
	first, second := e.idp.only(t), e.as.only(t)
	wantPosted(t, first, "/token", "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange",
		"requested_token_type", "urn:ietf:params:oauth:token-type:id-jag", "audience", e.as.url, "resource", a.Resource, "scope", "read",
		"subject_token", "id.token.1", "subject_token_type", "urn:ietf:params:oauth:token-type:id_token")
	wantBasic(t, first, "at-the-idp", "s-idp")
	wantPosted(t, second, "/token", "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer",
		"assertion", "id.jag.1", "scope", "read", "resource", a.Resource)
	wantBasic(t, second, "at+the+as", "s-as")
	for _, text := range []string{first.body, second.body} {
		assert.Lacks(t, text, "s-as", "a secret in %s", text)
		assert.Lacks(t, text, "s-idp", "a secret in %s", text)
	}
	wantGrant(t, g, e.as, "at the as", "Bearer AT")
}

func TestEnterpriseWithAKey(t *testing.T) {
	e := newEnterprise(t, sends(200, exchanged))
	atIDP, atAS := ecdsaKey(t, elliptic.P384()), ecdsaKey(t, elliptic.P256())
	c := e.config()
	c.Client = &Client{Issuer: e.as.url, ID: "c-as"}
	c.SigningKey = &SigningKey{Signer: atAS}
	c.Enterprise.Client.Secret = ""
	c.Enterprise.SigningKey = &SigningKey{Signer: atIDP}
	c.NoResource = true // is about the authorization server
	assert.Value(flow(t, c).Obtain(t.Context(), e.as.authority(), c.Client, nil))(t)
	first, second := e.idp.only(t), e.as.only(t)
	_, claims := openJWT(t, first.form.Get("client_assertion"), atIDP.Public())
	assert.Equal(t, [...]any{claims["aud"], claims["sub"]}, [...]any{e.idp.url, "at-the-idp"}, "claims")
	_, claims = openJWT(t, second.form.Get("client_assertion"), atAS.Public())
	assert.Equal(t, [...]any{claims["aud"], claims["sub"]}, [...]any{e.as.url, "c-as"}, "claims")
	assert.Equal(t, [...]any{first.form.Get("subject_token_type"), first.form.Has("resource"), second.form.Has("resource")},
		[...]any{"urn:ietf:params:oauth:token-type:id_token", true, false}, "asked")
}

func TestEnterpriseClientWithASecretBesideAnotherKey(t *testing.T) {
	e := newEnterprise(t, sends(200, exchanged))
	c := e.config()
	c.SigningKey = &SigningKey{Signer: ecdsaKey(t, elliptic.P256())}
	assert.Value(flow(t, c).Obtain(t.Context(), e.as.authority(), c.Client, nil))(t)
	got := e.idp.only(t)
	assert.Equal(t, [...]any{got.form.Has("client_assertion"), got.header.Get("Authorization") == ""}, [...]any{false, false}, "asked")
}

func TestEnterpriseLooksTheTokenEndpointUp(t *testing.T) {
	e := newEnterprise(t, nil)
	e.idp.answer = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration": // which says nothing of PKCE
			sends(200, `{"issuer":"`+e.idp.url+`","authorization_endpoint":"`+e.idp.url+`/authorize","token_endpoint":"`+e.idp.url+`/exchange"}`)(w, r)
		case "/exchange":
			sends(200, exchanged)(w, r)
		default:
			http.NotFound(w, r)
		}
	}
	c := e.config()
	c.Enterprise.TokenEndpoint = ""
	assert.Value(flow(t, c).Obtain(t.Context(), e.as.authority(), c.Client, nil))(t)
	got := e.idp.requests()
	last := got[len(got)-1]
	assert.Equal(t, [...]any{last.path, last.form.Get("subject_token")}, [...]any{"/exchange", "id.token.1"}, "asked")
	e.as.only(t)
}

func TestEnterpriseRefused(t *testing.T) {
	canary := "c4n4ry" + rand.Text()
	var refused *OAuthError
	var failed *RequestError
	for name, test := range map[string]struct {
		status int
		body   string
		as     any
		text   string
	}{
		"refused":       {400, `{"error":"invalid_grant","error_description":"` + canary + `"}`, &refused, "token exchange refused by 127.0.0.1"},
		"access token":  {200, `{"issued_token_type":"urn:ietf:params:oauth:token-type:access_token","access_token":"` + canary + `","token_type":"Bearer"}`, &failed, "issued_token_type"},
		"no type":       {200, `{"access_token":"` + canary + `","token_type":"N_A"}`, &failed, "issued_token_type"},
		"type a number": {200, `{"issued_token_type":1,"access_token":"` + canary + `"}`, &failed, "issued_token_type"},
		"no token":      {200, `{"issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}`, &failed, "access_token is missing"},
		"bad token":     {200, `{"issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","access_token":"` + canary + `\n"}`, &failed, "access_token"},
		"elsewhere":     {302, ``, &failed, "token exchange"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnterprise(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/elsewhere?"+canary)
				sends(test.status, test.body)(w, r)
			})
			e.subject = Secret(canary)
			c := e.config()
			c.Enterprise.Client.Secret = Secret(canary)
			_, err := flow(t, c).Obtain(t.Context(), e.as.authority(), c.Client, nil)
			assert.True(t, errors.As(err, test.as), "%v is a %T", err, test.as)
			assert.Contains(t, err.Error(), test.text)
			keepsSecrets(t, err, canary)
			e.idp.only(t)
			assert.Equal(t, len(e.as.requests()), 0, "the authorization server was asked")
		})
	}
}

func TestEnterpriseSubjectToken(t *testing.T) {
	away := errors.New("no login at the identity provider")
	for name, test := range map[string]struct {
		token Secret
		err   error
		text  string
	}{
		"none":  {"", away, "no login"},
		"empty": {" \n", nil, "empty"},
		"large": {Secret(strings.Repeat("x", maxToken+1)), nil, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnterprise(t, sends(200, exchanged))
			c := e.config()
			c.Enterprise.SubjectToken = func(context.Context) (Secret, error) { return test.token, test.err }
			_, err := flow(t, c).Obtain(t.Context(), e.as.authority(), c.Client, nil)
			assert.Contains(t, err.Error(), `server "files": Enterprise.SubjectToken gave no token`)
			assert.Contains(t, err.Error(), test.text)
			assert.Equal(t, len(e.idp.requests())+len(e.as.requests()), 0, "something was asked")
		})
	}
}

func TestWorkloadIdentity(t *testing.T) {
	for name, client := range map[string]*Client{"without client": nil, "with client": {ID: "c1"}} {
		t.Run(name, func(t *testing.T) {
			as := newPeer(t, sends(200, `{"access_token":"AT","token_type":"Bearer"}`))
			a := as.authority()
			if client != nil {
				client.Issuer = as.url
			}
			f := flow(t, Config{Grant: WorkloadIdentity, Client: client,
				Assertion: func(_ context.Context, issuer, tokenEndpoint string) (Secret, error) {
					assert.Equal(t, [...]any{issuer, tokenEndpoint}, [...]any{as.url, as.url + "/token"}, "asked for")
					return "workload.jwt.1\n", nil
				}})
			c := assert.Value(f.Register(t.Context(), a, "", nil, nil))(t)
			g := assert.Value(f.Obtain(t.Context(), a, c, []string{"read"}))(t)
			want := []string{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion", "workload.jwt.1", "scope", "read", "resource", a.Resource}
			if client != nil {
				want = append(want, "client_id", "c1")
			}
			wantPosted(t, as.only(t), "/token", want...)
			assert.Equal(t, as.only(t).header.Get("Authorization"), "", "header")
			wantGrant(t, g, as, c.ID, "Bearer AT")
		})
	}
}

func TestWorkloadIdentityIsNotTriedAgain(t *testing.T) {
	canary := "c4n4ry" + rand.Text()
	for _, code := range []string{"invalid_grant", "invalid_scope", "unauthorized_client"} {
		as := newPeer(t, sends(400, `{"error":"`+code+`","error_description":"`+canary+`"}`))
		f := flow(t, Config{Grant: WorkloadIdentity, Assertion: func(context.Context, string, string) (Secret, error) { return Secret(canary), nil }})
		_, err := f.Obtain(t.Context(), as.authority(), &Client{Issuer: as.url}, nil)
		wantRefused(t, err, "token", 400, code)
		keepsSecrets(t, err, canary)
		as.only(t)
	}
}

func TestObtainSendsNothing(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	for _, grant := range []GrantType{AuthorizationCode, DeviceCode} {
		_, err := flow(t, Config{Grant: grant}).Obtain(t.Context(), as.authority(), as.public(), nil)
		assert.Equal(t, assert.As[*ConfigError](t, err, "%v", grant).Field, "Grant", "%v", grant)
		assert.Contains(t, err.Error(), grant.String(), "%v", grant)
	}
	client := &Client{Issuer: "https://other.example", ID: "c1", Secret: "s1"}
	f := flow(t, Config{Grant: ClientCredentials, Client: client})
	assert.As[*IssuerMismatchError](t, errOf(f.Obtain(t.Context(), as.authority(), client, nil)))
	e := newEnterprise(t, sends(200, exchanged))
	c := e.config()
	assert.As[*IssuerMismatchError](t, errOf(flow(t, c).Obtain(t.Context(), as.authority(), c.Client, nil)))
	assert.Equal(t, len(e.idp.requests()), 0, "client of another")
	away := errors.New("no volume")
	f = flow(t, Config{Grant: WorkloadIdentity, Assertion: func(context.Context, string, string) (Secret, error) { return "", away }})
	_, err := f.Obtain(t.Context(), as.authority(), &Client{Issuer: as.url}, nil)
	assert.Contains(t, err.Error(), "Assertion gave no token")
	assert.Is(t, err, away)
	// A session of an earlier configuration.
	f = flow(t, Config{Grant: WorkloadIdentity, Issuer: "https://other.example", Assertion: noAssertion})
	assert.As[*IssuerMismatchError](t, errOf(f.Obtain(t.Context(), as.authority(), &Client{Issuer: as.url}, nil)))
	assert.Equal(t, len(as.requests()), 0, "asked")
}
