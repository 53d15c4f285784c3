package auth

import (
	"context"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A fragment is for browsers: requests go without.
func TestFragmentOfURL(t *testing.T) {
	server := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	})
	assert.Equal(t, len(assert.Value(flow(t, Config{URL: server.url + "/mcp#tools"}).Probe(t.Context()))(t)), 1, "challenges")
	assert.Equal(t, server.only(t).path, "/mcp", "path")
}

func TestConfigIsChecked(t *testing.T) {
	const mcp, as = "https://mcp.example/mcp", "https://as.example"
	small, edwards := assert.Value(rsa.GenerateKey(rand.Reader, 1024))(t), ed25519Key(t)
	client := func(change func(*Client)) *Client {
		c := &Client{ID: "c", Secret: "SECRET", Issuer: as}
		if change != nil {
			change(c)
		}
		return c
	}
	enterprise := func(change func(*Enterprise)) *Enterprise {
		e := &Enterprise{Issuer: as, Client: *client(nil), SubjectToken: func(context.Context) (Secret, error) { return "SECRET", nil }}
		if change != nil {
			change(e)
		}
		return e
	}
	for _, test := range []struct {
		name  string
		c     Config
		field string // of the error; empty if there is none
	}{
		{"least", Config{URL: mcp}, ""},
		{"no URL", Config{}, "URL"},
		{"no URL at all", Config{URL: "mcp.example"}, "URL"},
		{"http", Config{URL: "http://mcp.example"}, "URL"},
		{"http here", Config{URL: "http://127.0.0.1:8080/mcp"}, ""},
		{"http allowed", Config{URL: "http://mcp.example", Network: Network{AllowHTTP: true}}, ""},
		{"private", Config{URL: "https://10.0.0.1/mcp"}, ""},
		{"fragment", Config{URL: mcp + "#x"}, ""},
		{"user", Config{URL: "https://user:SECRET@mcp.example/mcp?SECRET"}, "URL"},
		{"query", Config{URL: mcp + "?key=SECRET"}, ""},
		{"grant type", Config{URL: mcp, Grant: 17}, "Grant"},
		{"negative grant type", Config{URL: mcp, Grant: -1}, "Grant"},

		{"issuer", Config{URL: mcp, Issuer: as + "/"}, ""},
		{"issuer by http", Config{URL: mcp, Issuer: "http://as.example"}, "Issuer"},
		{"issuer with a query", Config{URL: mcp, Issuer: as + "?SECRET"}, "Issuer"},
		{"issuer with a fragment", Config{URL: mcp, Issuer: as + "#"}, "Issuer"},

		{"client", Config{URL: mcp, Client: client(nil)}, ""},
		{"client without issuer", Config{URL: mcp, Client: client(func(c *Client) { c.Issuer = "" })}, "Client.Issuer"},
		{"client of another issuer", Config{URL: mcp, Issuer: as + "/", Client: client(nil)}, "Client.Issuer"},
		{"client of no issuer", Config{URL: mcp, Client: client(func(c *Client) { c.Issuer = "as" })}, "Client.Issuer"},
		{"client without ID", Config{URL: mcp, Client: client(func(c *Client) { c.ID = "" })}, "Client.ID"},
		{"method", Config{URL: mcp, Client: client(func(c *Client) { c.AuthMethod = "tls_client_auth" })}, "Client.AuthMethod"},
		{"no secret", Config{URL: mcp, Client: client(func(c *Client) { c.AuthMethod, c.Secret = "client_secret_post", "" })}, "Client.Secret"},
		{"no key", Config{URL: mcp, Client: client(func(c *Client) { c.AuthMethod = "private_key_jwt" })}, "SigningKey"},
		{"key", Config{URL: mcp, Client: client(func(c *Client) { c.AuthMethod = "private_key_jwt" }), SigningKey: &SigningKey{Signer: edwards}}, ""},

		{"RSA", Config{URL: mcp, SigningKey: &SigningKey{Signer: rsaKey()}}, ""},
		{"small RSA", Config{URL: mcp, SigningKey: &SigningKey{Signer: small}}, "SigningKey"},
		{"P-256", Config{URL: mcp, SigningKey: &SigningKey{Signer: ecdsaKey(t, elliptic.P256())}}, ""},
		{"P-224", Config{URL: mcp, SigningKey: &SigningKey{Signer: ecdsaKey(t, elliptic.P224())}}, "SigningKey"},
		{"no signer", Config{URL: mcp, SigningKey: &SigningKey{}}, "SigningKey"},

		{"document", Config{URL: mcp, Registration: Registration{ClientMetadataURL: "https://app.example/client.json"}}, ""},
		{"document by http", Config{URL: mcp, Registration: Registration{ClientMetadataURL: "http://app.example/client.json"}}, "ClientMetadataURL"},
		{"document without path", Config{URL: mcp, Registration: Registration{ClientMetadataURL: "https://app.example/"}}, "ClientMetadataURL"},
		{"document with fragment", Config{URL: mcp, Registration: Registration{ClientMetadataURL: "https://app.example/c#"}}, "ClientMetadataURL"},
		{"document with user", Config{URL: mcp, Registration: Registration{ClientMetadataURL: "https://u:SECRET@app.example/c"}}, "ClientMetadataURL"},
		{"document with dots", Config{URL: mcp, Registration: Registration{ClientMetadataURL: "https://app.example/a/../c"}}, "ClientMetadataURL"},

		{"scope", Config{URL: mcp, Scopes: []string{"a b"}}, "Scopes"},

		{"machine", Config{URL: mcp, Grant: ClientCredentials, Client: client(nil)}, ""},
		{"machine without client", Config{URL: mcp, Grant: ClientCredentials}, "Client"},
		{"machine without secret", Config{URL: mcp, Grant: ClientCredentials, Client: client(func(c *Client) { c.Secret = "" })}, "Client.Secret"},
		{"machine with key", Config{URL: mcp, Grant: ClientCredentials, Client: client(func(c *Client) { c.Secret = "" }), SigningKey: &SigningKey{Signer: edwards}}, ""},

		{"enterprise", Config{URL: mcp, Grant: EnterpriseManaged, Enterprise: enterprise(nil)}, ""},
		{"enterprise by endpoint", Config{URL: mcp, Grant: EnterpriseManaged, Enterprise: enterprise(func(e *Enterprise) { e.Issuer, e.TokenEndpoint = "", as+"/token" })}, ""},
		{"no enterprise", Config{URL: mcp, Grant: EnterpriseManaged}, "Enterprise"},
		{"enterprise in vain", Config{URL: mcp, Enterprise: enterprise(nil)}, "Enterprise"},
		{"enterprise nowhere", Config{URL: mcp, Grant: EnterpriseManaged, Enterprise: enterprise(func(e *Enterprise) { e.Issuer = "" })}, "Enterprise.Issuer"},
		{"enterprise by http", Config{URL: mcp, Grant: EnterpriseManaged, Enterprise: enterprise(func(e *Enterprise) { e.TokenEndpoint = "http://as.example" })}, "Enterprise.TokenEndpoint"},
		{"enterprise without client", Config{URL: mcp, Grant: EnterpriseManaged, Enterprise: enterprise(func(e *Enterprise) { e.Client.ID = "" })}, "Enterprise.Client.ID"},
		{"client of another enterprise", Config{URL: mcp, Grant: EnterpriseManaged, Enterprise: enterprise(func(e *Enterprise) { e.Client.Issuer = as + "/" })}, "Enterprise.Client.Issuer"},
		{"enterprise without token", Config{URL: mcp, Grant: EnterpriseManaged, Enterprise: enterprise(func(e *Enterprise) { e.SubjectToken = nil })}, "Enterprise.SubjectToken"},

		{"workload", Config{URL: mcp, Grant: WorkloadIdentity, Assertion: noAssertion}, ""},
		{"workload without assertion", Config{URL: mcp, Grant: WorkloadIdentity}, "Assertion"},
		{"assertion in vain", Config{URL: mcp, Assertion: noAssertion}, "Assertion"},

		{"network", Config{URL: mcp, Network: Network{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}, ""},
		{"no network", Config{URL: mcp, Network: Network{Allow: []netip.Prefix{{}}}}, "Network.Allow[0]"},
		{"odd network", Config{URL: mcp, Network: Network{Allow: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")}}}, "Network.Allow[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.field == "" {
				flowOf(t, &test.c)
			} else {
				assert.Equal(t, wantAs[*ConfigError](t, errOf(New(&test.c))).Field, test.field)
			}
		})
	}
	assert.Fails(t, errOf(New(nil)), "no Config is one")
}

func TestConfigIsCopied(t *testing.T) {
	c := Config{
		URL: "https://mcp.example:8443/mcp", Scopes: []string{"a"},
		Client:     &Client{ID: "c", Issuer: "https://as.example", RedirectURIs: []string{"http://127.0.0.1/cb"}},
		SigningKey: &SigningKey{Signer: ed25519Key(t)},
		Network:    Network{TLS: &tls.Config{ServerName: "x"}, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	}
	f := flowOf(t, &c)
	assert.Equal(t, c.Server+c.ClientName, "", "the caller's Config stays as it was")
	assert.Equal(t, c.Network.TLS.MinVersion, 0, "the caller's Config stays as it was")
	c.Scopes[0], c.Client.ID, c.Client.RedirectURIs[0], c.Network.TLS.ServerName = "b", "d", "x", "y"
	c.Network.Allow[0] = netip.Prefix{}
	own := f.config
	assert.Equal(t, fmt.Sprint(own.Scopes, own.Client.ID, own.Client.RedirectURIs, own.Network.TLS.ServerName, own.Network.Allow),
		"[a]c[http://127.0.0.1/cb]x[10.0.0.0/8]", "the Flow's Config stays as it was")
	assert.Equal(t, own.Server+", "+own.ClientName, "mcp.example:8443, MCP client", "defaults")
}
