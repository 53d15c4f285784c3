package auth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
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
	a, err := f.Discover(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(as.requests()); n != 0 {
		t.Errorf("got %d requests, want none", n)
	}
	if a.Issuer != as.url {
		t.Errorf("got the issuer %q, want the origin of the token endpoint", a.Issuer)
	}
	if a.Resource != as.url+"/mcp" {
		t.Errorf("got the resource %q, want the server", a.Resource)
	}
	c, err := f.Register(t.Context(), a, redirectURI, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := begin(t, f, a, c)
	page, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(p.URL, as.url+"/login/authorize?") {
		t.Errorf("got the page %s, want the authorization endpoint", p.URL)
	}
	for name, want := range map[string]string{"code_challenge_method": "S256", "access_type": "offline", "client_id": "client"} {
		if got := page.Query().Get(name); got != want {
			t.Errorf("got %s %q, want %q", name, got, want)
		}
	}
	wrong := "?code=c&state=" + p.State.Reveal() + "&iss=https%3A%2F%2Fevil.example"
	if _, err := f.Complete(t.Context(), p, redirectURI+wrong); !errors.As(err, new(*IssuerMismatchError)) {
		t.Errorf("got %v for the answer of another issuer, want an *IssuerMismatchError", err)
	}
	if _, err := f.Complete(t.Context(), p, redirectURI+"?code=c&state=other"); !errors.As(err, new(*StateError)) {
		t.Errorf("got %v for another state, want a *StateError", err)
	}
	if n := len(as.requests()); n != 0 {
		t.Errorf("got %d requests for wrong answers, want none", n)
	}
	if _, err := f.Complete(t.Context(), p, redirectURI+"?code=c&state="+p.State.Reveal()); err != nil {
		t.Fatal(err)
	}
	if got := as.only(t); got.path != "/login/token" || got.form.Get("code_verifier") == "" {
		t.Errorf("got %s with %d parameters, want the token endpoint and a code_verifier", got.path, len(got.form))
	}
}

// What one token endpoint has issued is not sent to another that takes its place.
func TestGivenAuthorityThatMoves(t *testing.T) {
	as := newPeer(t, func(http.ResponseWriter, *http.Request) {})
	given := func(path string) *Flow {
		return flow(t, Config{Client: &Client{ID: "client"},
			Authority: &Authority{AuthorizationEndpoint: as.url + "/a", TokenEndpoint: as.url + path}})
	}
	before, err := given("/token").Discover(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	grant := &TokenSet{Authority: *before, Client: Client{ID: "client", Issuer: as.url}, Token: Token{Refresh: "R"}}
	if _, err := given("/other").Refresh(t.Context(), grant); !errors.As(err, new(*IssuerMismatchError)) {
		t.Errorf("got %v, want an *IssuerMismatchError", err)
	}
	if n := len(as.requests()); n != 0 {
		t.Errorf("got %d requests, want none", n)
	}
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
		_, err := New(&c)
		var wrong *ConfigError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("got %v, want a *ConfigError of %s", err, field)
		}
	}
}
