package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
	g, err = v.flow.Refresh(t.Context(), g)
	assert.OK(t, err)
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
