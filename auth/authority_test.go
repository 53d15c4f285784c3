package auth

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A given authority takes the place of discovery: nothing is looked up.
func TestGivenAuthority(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f := flow(t, Config{
		URL:         as.url + "/mcp",
		Client:      &Client{ID: "client", Secret: "s"},
		Authority:   &Authority{AuthorizationEndpoint: as.url + "/login/authorize", TokenEndpoint: as.url + "/login/token"},
		LoginParams: url.Values{"access_type": {"offline"}},
	})
	a := assert.Value(f.Discover(t.Context(), nil))(t)
	assert.Equal(t, len(as.requests()), 0, "requests")
	assert.Equal(t, a.Issuer, as.url, "the issuer")
	assert.Equal(t, a.Resource, as.url+"/mcp", "the resource")
	p := begin(t, f, a, assert.Value(f.Register(t.Context(), a, redirectURI, nil, nil))(t))
	assert.Contains(t, p.URL, as.url+"/login/authorize?", "page")
	assert.ContainsAll(t, p.URL, "code_challenge_method=S256", "access_type=offline", "client_id=client")
	wrong := "?code=c&state=" + p.State.Reveal() + "&iss=https%3A%2F%2Fevil.example"
	assert.As[*IssuerMismatchError](t, errOf(f.Complete(t.Context(), p, redirectURI+wrong)), "the answer of another issuer")
	assert.As[*StateError](t, errOf(f.Complete(t.Context(), p, redirectURI+"?code=c&state=other")), "another state")
	assert.Equal(t, len(as.requests()), 0, "requests for wrong answers")
	assert.Value(f.Complete(t.Context(), p, redirectURI+"?code=c&state="+p.State.Reveal()))(t)
	assert.Equal(t, as.only(t).path, "/login/token", "path")
	assert.Equal(t, as.only(t).form.Get("code_verifier"), p.Verifier.Reveal(), "verifier")
}

// What one token endpoint has issued is not sent to another that takes its place.
func TestGivenAuthorityThatMoves(t *testing.T) {
	as := newPeer(t, func(http.ResponseWriter, *http.Request) {})
	given := func(path string) *Flow {
		return flow(t, Config{Client: &Client{ID: "client"},
			Authority: &Authority{AuthorizationEndpoint: as.url + "/a", TokenEndpoint: as.url + path}})
	}
	before := assert.Value(given("/token").Discover(t.Context(), nil))(t)
	grant := &TokenSet{Authority: *before, Client: Client{ID: "client", Issuer: as.url}, Token: Token{Refresh: "R"}}
	assert.As[*IssuerMismatchError](t, errOf(given("/other").Refresh(t.Context(), grant)))
	assert.Equal(t, len(as.requests()), 0, "requests")
}

func TestGivenAuthorityThatCannotBe(t *testing.T) {
	const at = "https://login.example.com"
	for field, c := range map[string]Config{
		"Authority.TokenEndpoint":         {Authority: &Authority{AuthorizationEndpoint: at + "/a"}},
		"Authority.AuthorizationEndpoint": {Authority: &Authority{TokenEndpoint: at + "/t"}},
		"Authority.DeviceEndpoint":        {Grant: DeviceCode, Authority: &Authority{TokenEndpoint: at + "/t"}},
		"Authority.Issuer": {Issuer: "https://other.example.com",
			Authority: &Authority{Issuer: at, AuthorizationEndpoint: at + "/a", TokenEndpoint: at + "/t"}},
		"Client.Issuer": {Client: &Client{ID: "c", Issuer: "https://other.example.com"},
			Authority: &Authority{Issuer: at, AuthorizationEndpoint: at + "/a", TokenEndpoint: at + "/t"}},
		"Authority.RevocationEndpoint": {
			Authority: &Authority{AuthorizationEndpoint: at + "/a", TokenEndpoint: at + "/t", RevocationEndpoint: "ftp://x.example"}},
	} {
		c.URL = "https://mcp.example.com/mcp"
		assert.Equal(t, assert.As[*ConfigError](t, errOf(New(&c))).Field, field)
	}
}
