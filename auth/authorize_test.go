package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestBegin(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f, a, c := flow(t, Config{}), as.authority(), as.public()
	before := time.Now()
	p := assert.Value(f.Begin(a, c, redirectURI, []string{"read", "files:write"}))(t)
	u, err := url.Parse(p.URL)
	assert.OK(t, err)
	challenge := sha256.Sum256([]byte(p.Verifier.Reveal()))
	want := url.Values{
		"response_type":         {"code"},
		"client_id":             {"client"},
		"redirect_uri":          {redirectURI},
		"scope":                 {"read files:write"},
		"state":                 {p.State.Reveal()},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(challenge[:])},
		"code_challenge_method": {"S256"},
		"resource":              {a.Resource},
	}
	assert.Equal(t, [...]any{reflect.DeepEqual(u.Query(), want), u.Path}, [...]any{true, "/authorize"}, "%s", p.URL)
	assert.Equal(t, [...]any{p.Server, p.Grant, p.RedirectURI, reflect.DeepEqual(p.Authority, *a), p.DPoPKey},
		[...]any{"files", AuthorizationCode, redirectURI, true, Secret("")})
	life := p.Expires.Sub(before)
	assert.Equal(t, [...]any{life < pendingLife, life > pendingLife+time.Minute}, [...]any{false, false}, "lives")
	seen := map[Secret]bool{}
	for range 100 {
		p := begin(t, f, a, c)
		for _, s := range []Secret{p.State, p.Verifier} {
			if seen[s] || len(s) < 43 || len(s) > 128 {
				t.Fatalf("%q", s.Reveal())
			}
			seen[s] = true
		}
	}
	p, err = f.Begin(a, c, redirectURI, nil)
	assert.OK(t, err)
	assert.Lacks(t, p.URL, "scope", "without scopes")
	assert.Equal(t, len(as.requests()), 0)
}

// TestLoginThroughStorage completes a login in another process, so to speak.
func TestLoginThroughStorage(t *testing.T) {
	as := newPeer(t, sends(200, `{"access_token":"AT","token_type":"Bearer"}`))
	p := begin(t, flow(t, Config{}), as.authority(), as.public())
	data := assert.Value(p.MarshalBinary())(t)
	var stored Pending
	assert.OK(t, stored.UnmarshalBinary(data))
	assert.Equal(t, reflect.DeepEqual(*p, stored), true, "reflect")
	g := assert.Value(flow(t, Config{}).Complete(t.Context(), &stored, callback(p, "code", "CODE")))(t)
	r := as.only(t)
	want := url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {"CODE"},
		"redirect_uri":  {redirectURI},
		"code_verifier": {p.Verifier.Reveal()},
		"client_id":     {"client"},
		"resource":      {p.Authority.Resource},
	}
	assert.Equal(t, [...]any{r.path, reflect.DeepEqual(r.form, want)}, [...]any{"/token", true})
	assert.Equal(t, [...]any{reflect.DeepEqual(g.Scopes, []string{"read"}), reflect.DeepEqual(g.Requested, []string{"read"}), reflect.DeepEqual(g.Authority, p.Authority)},
		[...]any{true, true, true}, "reflect")
}

func TestEndpointHasItsOwnQuery(t *testing.T) {
	f := flow(t, Config{})
	a := &Authority{Issuer: "https://as.example.com", Resource: "https://mcp.example.com"}
	c := &Client{Issuer: a.Issuer, ID: "client", Source: Dynamic}
	for query, want := range map[string]string{
		"?tenant=a%26b&p=1&p=2":                         "p=1&p=2&tenant=a%26b",
		"?tenant=1&state=evil&state=evil2":              "tenant=1",
		"?redirect_uri=https://evil.example.com&x":      "x=",
		"?code_challenge_method=plain&response_type=id": "",
		"?resource=https://evil.example.com":            "",
		"?":                                             "",
	} {
		a.AuthorizationEndpoint = "https://as.example.com/authorize" + query
		p, err := f.Begin(a, c, redirectURI, nil)
		assert.OK(t, err, "%s", query)
		u := assert.Value(url.Parse(p.URL))(t)
		q := u.Query()
		assert.Equal(t, [...]any{q.Get("state"), q.Get("redirect_uri"), q.Get("code_challenge_method"), q.Get("resource")},
			[...]any{p.State.Reveal(), redirectURI, "S256", a.Resource}, "%s: %s", query, p.URL)
		for _, ours := range []string{"response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "resource"} {
			assert.Equal(t, len(q[ours]), 1, "%s: %s is there times", query, ours)
			q.Del(ours)
		}
		assert.Equal(t, q.Encode(), want, "%s: keeps", query)
	}
}

// TestLoginParams: what a provider wants besides, and nothing that is ours to say.
func TestLoginParams(t *testing.T) {
	params := url.Values{"access_type": {"offline"}, "audience": {"https://a.example/?x&y"}, "prompt": {"select_account"}}
	f := flow(t, Config{LoginParams: params})
	params.Set("access_type", "online")
	a := &Authority{Issuer: "https://as.example.com", AuthorizationEndpoint: "https://as.example.com/authorize?access_type=x&t=1"}
	p, err := f.Begin(a, &Client{Issuer: a.Issuer, ID: "client", Source: Dynamic}, redirectURI, []string{"offline_access"})
	assert.OK(t, err)
	q := parsed(t, p.URL).Query()
	for name, want := range map[string]string{"access_type": "offline", "audience": "https://a.example/?x&y", "prompt": "select_account", "t": "1", "client_id": "client"} {
		assert.Equal(t, reflect.DeepEqual(q[name], []string{want}), true, "%s", name)
	}
	for _, name := range []string{
		"", "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method",
		"scope", "resource", "dpop_jkt", "response_mode", "request", "request_uri",
	} {
		_, err := New(&Config{URL: "https://mcp.example", LoginParams: url.Values{name: {"x"}}})
		assert.Equal(t, wantAs[*ConfigError](t, err).Field, "LoginParams", "%s", name)
	}
	_, err = New(&Config{URL: "https://mcp.example", Grant: DeviceCode, LoginParams: url.Values{"a": {"x"}}})
	wantAs[*ConfigError](t, err)
}

// TestHostileAuthorizationEndpoints shows no user an address that could do more
// than open a page over TLS.
func TestHostileAuthorizationEndpoints(t *testing.T) {
	f := flow(t, Config{})
	c := &Client{Issuer: "https://as.example.com", ID: "client", Source: Dynamic}
	for _, endpoint := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "blob:https://as.example.com/x",
		"ftp://as.example.com", "ms-settings:", "http://as.example.com/authorize", "http://10.0.0.1/", "https://", "https:///authorize",
		"https:as.example.com", "//as.example.com/authorize", "/authorize", "authorize", "--upload-pack=x", "-https://as.example.com",
		"a:$(calc)?", `https://as.example.com\@evil.example.com/`, `\\as.example.com\share`, "https://user@as.example.com/",
		"https://user:password@as.example.com/", "https://as.example.com/#CANARY", "https://as.example.com/a b", "https://as.example.com/\r\nX: y",
		"https://as.example.com/\x00", "https://as.example.com/\u202e", "https://äs.example.com/", "https://as.example.com:port/", "https://[::1/",
		"https://as.example.com/?a;b", "https://as.example.com/?%zz", " https://as.example.com/", "https://as.example.com/" + strings.Repeat("a", 1<<20),
		"http://127.0.0.1.evil.example.com/", "http://localhost.evil.example.com/", "http://2130706433/", "http://0.0.0.0/",
		"http://[::ffff:10.0.0.1]/", "http://127.0.0.1@evil.example.com/", "ws://127.0.0.1/",
		`https://as.example.com/x"&calc&"`, "https://as.example.com/`id`", "https://as.example.com/a|b",
	} {
		p, err := f.Begin(&Authority{Issuer: c.Issuer, AuthorizationEndpoint: endpoint}, c, redirectURI, nil)
		refused := assert.As[*URLError](t, err, "%.60q: %v", endpoint, p)
		assert.Equal(t, [...]any{refused.Field, refused.Server}, [...]any{"authorization_endpoint", "files"}, "%.60q: %v", endpoint, p)
		keepsSecrets(t, err, "password", "CANARY")
		assert.Equal(t, len(err.Error()) <= 500, true, "%.60q: an", endpoint)
	}
	for _, endpoint := range []string{
		"https://as.example.com/$(calc);x", "https://as.example.com", "http://localhost:1/a", "http://[::1]:1/a",
	} {
		p, err := f.Begin(&Authority{Issuer: c.Issuer, AuthorizationEndpoint: endpoint}, c, redirectURI, nil)
		assert.OK(t, err, "%q", endpoint)
		assert.Equal(t, strings.ContainsAny(p.URL, "\"` |<>\\"), false, "%q", endpoint)
	}
	_, err := f.Begin(&Authority{Issuer: c.Issuer}, c, redirectURI, nil)
	assert.Equal(t, assert.As[*MetadataError](t, err).Field, "authorization_endpoint", "no endpoint")
}

func TestRedirectURIs(t *testing.T) {
	f := flow(t, Config{})
	a := &Authority{Issuer: "https://as.example.com", AuthorizationEndpoint: "https://as.example.com/authorize"}
	c := &Client{Issuer: a.Issuer, ID: "client", Source: Dynamic}
	for redirect, ok := range map[string]bool{
		"https://agent.example.com/cb":     true,
		"https://agent.example.com/cb?x=y": true,
		"http://127.0.0.1:1/cb":            true,
		"http://[::1]:1/cb":                true,
		"http://localhost/cb":              true,
		"":                                 false,
		"/cb":                              false,
		"http://agent.example.com/cb":      false,
		"http://10.0.0.1/cb":               false,
		"com.example.agent:/cb":            false,
		"javascript:x":                     false,
		"https://agent.example.com/cb#x":   false,
		"https://u@agent.example.com/cb":   false,
	} {
		_, err := f.Begin(a, c, redirect, nil)
		if refused := (*URLError)(nil); ok != (err == nil) || err != nil && !errors.As(err, &refused) {
			t.Errorf("%q: %v", redirect, err)
		}
	}
}

// TestHTTPAllowed: whoever allows http for all allows it for pages, too.
func TestHTTPAllowed(t *testing.T) {
	f := flow(t, Config{Network: Network{AllowHTTP: true}})
	a := &Authority{Issuer: "http://as.test", AuthorizationEndpoint: "http://as.test/authorize"}
	assert.Value(f.Begin(a, &Client{Issuer: a.Issuer, ID: "client", Source: Dynamic}, redirectURI, nil))(t)
}

// TestBoundLogin binds the code and the token to one key, where the Config or the
// server wants that.
func TestBoundLogin(t *testing.T) {
	for _, required := range []bool{false, true} {
		t.Run(fmt.Sprintf("required=%t", required), func(t *testing.T) {
			as := newPeer(t, sends(200, strings.Replace(tokenAnswer, "Bearer", "DPoP", 1)))
			f, a := flow(t, Config{DPoP: !required}), as.authority()
			a.DPoPRequired = required
			for _, algorithms := range [][]string{nil, {"RS256"}} {
				a.DPoPAlgorithms = algorithms
				_, err := f.Begin(a, as.public(), redirectURI, nil)
				assert.Equal(t, assert.As[*MetadataError](t, err, "%q", algorithms).Field, "dpop_signing_alg_values_supported", "%q", algorithms)
			}
			a.DPoPAlgorithms = []string{"RS256", "ES256"}
			p := begin(t, f, a, as.public())
			u := assert.Value(url.Parse(p.URL))(t)
			g := assert.Value(f.Complete(t.Context(), p, callback(p, "code", "C")))(t)
			assert.Equal(t, [...]any{g.Token.Type, g.DPoPKey == "", g.DPoPKey}, [...]any{"DPoP", false, p.DPoPKey})
			assert.Value(f.Refresh(t.Context(), g))(t)
			for _, r := range as.requests() {
				claims, print := openProof(t, r.header.Get("DPoP"))
				assert.Equal(t, [...]any{claims["htm"], claims["htu"], claims["ath"]}, [...]any{"POST", as.url + "/token", nil}, "claims")
				assert.Equal(t, print, u.Query().Get("dpop_jkt"), "key")
			}
			assert.Equal(t, begin(t, f, a, as.public()).DPoPKey != p.DPoPKey, true, "two logins have one key")
		})
	}
}
