package auth

import (
	"crypto/sha256"
	"encoding/base64"
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
	p := assert.Value(f.Begin(a, c, redirectURI, []string{"read", "files:write"}))(t)
	u := parsed(t, p.URL)
	challenge := sha256.Sum256([]byte(p.Verifier.Reveal()))
	want := url.Values{
		"response_type": {"code"}, "client_id": {"client"}, "redirect_uri": {redirectURI}, "scope": {"read files:write"},
		"state":                 {p.State.Reveal()},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(challenge[:])},
		"code_challenge_method": {"S256"},
		"resource":              {a.Resource},
	}
	assert.Equal(t, u.Query().Encode(), want.Encode(), "query")
	assert.Equal(t, u.Path, "/authorize", "path")
	assert.Equal(t, [...]any{p.Server, p.Grant, p.RedirectURI, p.DPoPKey}, [...]any{"files", AuthorizationCode, redirectURI, Secret("")})
	assert.True(t, reflect.DeepEqual(p.Authority, *a), "the authority is kept")
	assert.False(t, p.Expires.After(time.Now().Add(pendingLifetime)), "it lives longer")
	seen := map[Secret]bool{}
	for range 100 {
		p := begin(t, f, a, c)
		for _, s := range []Secret{p.State, p.Verifier} {
			assert.True(t, 43 <= len(s) && len(s) <= 128, "%d characters are enough", len(s))
			seen[s] = true
		}
	}
	assert.Equal(t, len(seen), 200, "different values")
	p = assert.Value(f.Begin(a, c, redirectURI, nil))(t)
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
	assert.True(t, reflect.DeepEqual(*p, stored), "what is stored is the same")
	g := assert.Value(flow(t, Config{}).Complete(t.Context(), &stored, callback(p, "code", "CODE")))(t)
	wantPosted(t, as.only(t), "/token", "grant_type", "authorization_code", "code", "CODE", "redirect_uri", redirectURI,
		"code_verifier", p.Verifier.Reveal(), "client_id", "client", "resource", p.Authority.Resource)
	assert.Equal(t, fmt.Sprint(g.Scopes, g.Requested), "[read] [read]", "scopes")
	assert.True(t, reflect.DeepEqual(g.Authority, p.Authority), "the authority is kept")
}

func TestEndpointHasItsOwnQuery(t *testing.T) {
	f := flow(t, Config{})
	a := &Authority{Issuer: "https://as.example.com", Resource: "https://mcp.example.com"}
	c := &Client{Issuer: a.Issuer, ID: "client", Source: Dynamic}
	for query, want := range map[string]string{
		"?tenant=a%26b&p=1&p=2": "p=1&p=2&tenant=a%26b", "?tenant=1&state=evil&state=evil2": "tenant=1",
		"?redirect_uri=https://evil.example.com&x": "x=", "?code_challenge_method=plain&response_type=id": "",
		"?resource=https://evil.example.com": "", "?": "",
	} {
		a.AuthorizationEndpoint = "https://as.example.com/authorize" + query
		p, err := f.Begin(a, c, redirectURI, nil)
		assert.OK(t, err, "%s", query)
		q := parsed(t, p.URL).Query()
		assert.Equal(t, q.Get("state")+" "+q.Get("redirect_uri"), p.State.Reveal()+" "+redirectURI, "%s", query)
		assert.Equal(t, q.Get("code_challenge_method")+" "+q.Get("resource"), "S256 "+a.Resource, "%s", query)
		for _, ours := range []string{"response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "resource"} {
			assert.Equal(t, len(q[ours]), 1, "%s: values of %s", query, ours)
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
	p := assert.Value(f.Begin(a, &Client{Issuer: a.Issuer, ID: "client", Source: Dynamic}, redirectURI, []string{"offline_access"}))(t)
	q := parsed(t, p.URL).Query()
	for name, want := range map[string]string{"access_type": "offline", "audience": "https://a.example/?x&y", "prompt": "select_account", "t": "1", "client_id": "client"} {
		assert.True(t, reflect.DeepEqual(q[name], []string{want}), "%s", name)
	}
	for _, name := range []string{
		"", "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method",
		"scope", "resource", "dpop_jkt", "response_mode", "request", "request_uri",
	} {
		_, err := New(&Config{URL: "https://mcp.example", LoginParams: url.Values{name: {"x"}}})
		assert.Equal(t, wantAs[*ConfigError](t, err).Field, "LoginParams", "%s", name)
	}
	wantAs[*ConfigError](t, errOf(New(&Config{URL: "https://mcp.example", Grant: DeviceCode, LoginParams: url.Values{"a": {"x"}}})))
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
		assert.Equal(t, refused.Field+" "+refused.Server, "authorization_endpoint files", "%.60q", endpoint)
		keepsSecrets(t, err, "password", "CANARY")
		assert.True(t, len(err.Error()) <= 500, "%.60q: the error is short", endpoint)
	}
	for _, endpoint := range []string{
		"https://as.example.com/$(calc);x", "https://as.example.com", "http://localhost:1/a", "http://[::1]:1/a",
	} {
		p, err := f.Begin(&Authority{Issuer: c.Issuer, AuthorizationEndpoint: endpoint}, c, redirectURI, nil)
		assert.OK(t, err, "%q", endpoint)
		assert.False(t, strings.ContainsAny(p.URL, "\"` |<>\\"), "%q", endpoint)
	}
	_, err := f.Begin(&Authority{Issuer: c.Issuer}, c, redirectURI, nil)
	assert.Equal(t, assert.As[*metadataError](t, err).field, "authorization_endpoint", "no endpoint")
}

func TestRedirectURIs(t *testing.T) {
	f := flow(t, Config{})
	a := &Authority{Issuer: "https://as.example.com", AuthorizationEndpoint: "https://as.example.com/authorize"}
	c := &Client{Issuer: a.Issuer, ID: "client", Source: Dynamic}
	for _, redirect := range []string{
		"https://agent.example.com/cb", "https://agent.example.com/cb?x=y", "http://127.0.0.1:1/cb", "http://[::1]:1/cb", "http://localhost/cb",
	} {
		assert.OK(t, errOf(f.Begin(a, c, redirect, nil)), "%q", redirect)
	}
	for _, redirect := range []string{
		"", "/cb", "http://agent.example.com/cb", "http://10.0.0.1/cb", "com.example.agent:/cb", "javascript:x",
		"https://agent.example.com/cb#x", "https://u@agent.example.com/cb",
	} {
		assert.As[*URLError](t, errOf(f.Begin(a, c, redirect, nil)), "%q", redirect)
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
				assert.Equal(t, assert.As[*metadataError](t, err, "%q", algorithms).field, "dpop_signing_alg_values_supported", "%q", algorithms)
			}
			a.DPoPAlgorithms = []string{"RS256", "ES256"}
			p := begin(t, f, a, as.public())
			u := parsed(t, p.URL)
			g := assert.Value(f.Complete(t.Context(), p, callback(p, "code", "C")))(t)
			assert.Equal(t, g.Token.Type, "DPoP", "type")
			assert.Equal(t, g.DPoPKey, p.DPoPKey, "key")
			assert.Value(f.Refresh(t.Context(), g))(t)
			for _, r := range as.requests() {
				claims, print := openProof(t, r.header.Get("DPoP"))
				assert.Equal(t, [...]any{claims["htm"], claims["htu"], claims["ath"]}, [...]any{"POST", as.url + "/token", nil}, "claims")
				assert.Equal(t, print, u.Query().Get("dpop_jkt"), "key")
			}
			assert.True(t, begin(t, f, a, as.public()).DPoPKey != p.DPoPKey, "two logins have one key")
		})
	}
}

// Without prompt=consent an authorization server may ignore offline_access, with
// it one may refuse users for whom an administrator has consented.
func TestBeginAsksForConsent(t *testing.T) {
	for _, test := range []struct {
		source ClientSource
		params url.Values
		scopes []string
		want   string
	}{
		{Dynamic, nil, []string{"notes", "offline_access"}, "consent"},
		{MetadataDocument, nil, []string{"notes", "offline_access"}, "consent"},
		{Preregistered, nil, []string{"notes", "offline_access"}, ""},
		{Preregistered, url.Values{"prompt": {"consent"}}, []string{"notes", "offline_access"}, "consent"},
		{Dynamic, nil, []string{"notes"}, ""},
		{Dynamic, nil, nil, ""},
	} {
		f := &Flow{config: Config{Server: "notes", LoginParams: test.params}}
		a := &Authority{Issuer: "https://as.example", AuthorizationEndpoint: "https://as.example/authorize", PKCE: true}
		p := assert.Value(f.Begin(a, &Client{Issuer: a.Issuer, ID: "1", Source: test.source}, "http://127.0.0.1:1/", test.scopes))(t)
		assert.Equal(t, parsed(t, p.URL).Query().Get("prompt"), test.want, "%+v: prompt", test)
	}
}

// TestIssuerOfResponse is the table of RFC 9207 as the MCP specification has it,
// for codes and for errors. Nothing is sent for a response of another issuer, and
// nothing of it is shown.
func TestIssuerOfResponse(t *testing.T) {
	const absent = "\x00"
	for _, row := range []struct {
		advertised bool
		iss        func(issuer string) string
		ok         bool
	}{
		{true, func(s string) string { return s }, true},
		{true, func(string) string { return absent }, false},
		{false, func(s string) string { return s }, true},
		{false, func(string) string { return absent }, true},

		{true, func(s string) string { return s + "/" }, false},
		{false, func(s string) string { return s + "/" }, false},
		{true, strings.ToUpper, false},
		{false, strings.ToUpper, false},
		{true, func(string) string { return "" }, false},
		{false, func(string) string { return "" }, false},
		{false, func(string) string { return "https://evil.example.com" }, false},
		{false, func(s string) string { return strings.Repeat(s, 100) }, false},
	} {
		for _, refused := range []bool{false, true} {
			as := newPeer(t, sends(200, tokenAnswer))
			iss := row.iss(as.url)
			t.Run(fmt.Sprintf("advertised=%t,iss=%.40q,refused=%t", row.advertised, iss, refused), func(t *testing.T) {
				f, a := flow(t, Config{}), as.authority()
				a.NamesIssuer = row.advertised
				p := begin(t, f, a, as.public())
				members := []string{"code", "CODE"}
				if refused {
					members = []string{"error", "sneaky_error", "error_description", "sneaky_description"}
				}
				if iss != absent {
					members = append(members, "iss", iss)
				}
				g, err := f.Complete(t.Context(), p, callback(p, members...))
				keepsSecrets(t, err, "CODE")
				if !row.ok { // nothing that another says is shown
					keepsSecrets(t, err, "sneaky_description")
				}
				assert.Equal(t, len(as.requests()) > 0, row.ok && !refused, "the code is sent")
				switch {
				case row.ok && refused:
					wantRefused(t, err, "authorization", 0, "sneaky_error")
				case row.ok:
					assert.OK(t, err)
					assert.Equal(t, g.Token.Access, "AT")
				default:
					mismatch := assert.As[*IssuerMismatchError](t, err)
					assert.Equal(t, mismatch.what+" "+mismatch.want, "response "+as.url)
					keepsSecrets(t, err, "sneaky_error")
					assert.True(t, len(err.Error()) <= 1000, "the error is short")
				}
			})
		}
	}
}

func TestStateOfResponse(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f, p := startLogin(t, as)
	other := begin(t, f, as.authority(), as.public())
	late, device, stateless := *p, *p, *p
	late.Expires, device.Grant, stateless.State = time.Now().Add(-time.Second), DeviceCode, ""
	state := p.State.Reveal()

	for _, c := range []struct {
		name     string
		p        *Pending
		callback string
	}{
		{"other login's", p, callback(other, "code", "CODE")},
		{"missing", p, redirectURI + "?code=CODE"},
		{"empty", p, redirectURI + "?code=CODE&state="},
		{"prefix", p, redirectURI + "?code=CODE&state=" + state[:20]},
		{"longer", p, redirectURI + "?code=CODE&state=" + state + "A"},
		{"twice", p, callback(p, "code", "CODE", "state", state)},
		{"twice, with another", p, callback(p, "code", "CODE", "state", "other")},
		{"in the fragment", p, redirectURI + "?code=CODE#state=" + state},
		{"too late", &late, callback(p, "code", "CODE")},
		{"two codes", p, callback(p, "code", "CODE", "code", "CODE")},
		{"two issuers", p, callback(p, "code", "CODE", "iss", as.url, "iss", "https://evil.example.com")},
		{"two errors", p, callback(p, "error", "a", "error", "b")},
		{"unreadable issuer", p, callback(p, "code", "CODE") + "&iss=%zz"},
		{"semicolon", p, callback(p, "code", "CODE") + "&a;iss=x"},
		{"of a login by device code", &device, callback(p, "code", "CODE")},
		{"of a login without state", &stateless, redirectURI + "?code=CODE&state="},
		{"not a URL", p, "http://[::1/?code=CODE&state=" + state},
		{"too long", p, callback(p, "code", "CODE", "more", strings.Repeat("x", maxCallback))},
		{"at another host", p, "http://127.0.0.2:4711/callback?code=CODE&state=" + state},
		{"at another port", p, "http://127.0.0.1:4712/callback?code=CODE&state=" + state},
		{"with another scheme", p, "https://127.0.0.1:4711/callback?code=CODE&state=" + state},
		{"at another path", p, "http://127.0.0.1:4711/callback/x?code=CODE&state=" + state},
		{"at another host, without scheme", p, "//evil.example.com/callback?code=CODE&state=" + state},
		{"of another scheme", p, "evil:callback?code=CODE&state=" + state},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := f.Complete(t.Context(), c.p, c.callback)
			assert.Equal(t, assert.As[*StateError](t, err).Server, "files")
			keepsSecrets(t, err, "CODE", state)
		})
	}
	assert.Equal(t, len(as.requests()), 0)
}

// TestCallbackForms completes a login by each form in which users and web servers
// hand the address over.
func TestCallbackForms(t *testing.T) {
	for _, form := range []func(string) string{
		func(s string) string { return s }, func(s string) string { return " " + s + "\r\n" },
		func(s string) string { return s[strings.Index(s, "/callback"):] },
		func(s string) string { return s[strings.Index(s, "?"):] }, func(s string) string { return s + "#_=_" },
		func(s string) string { return s + "&session_state=1&session_state=2" },
		func(s string) string { return strings.Replace(s, "http://", "HTTP://", 1) },
	} {
		as := newPeer(t, sends(200, tokenAnswer))
		f, p := startLogin(t, as)
		address := form(callback(p, "code", "a+b/c="))
		assert.OK(t, errOf(f.Complete(t.Context(), p, address)), "%q", address)
		assert.Equal(t, as.only(t).form.Get("code"), "a+b/c=", "sends the code")
	}
}

func TestRedirectURIWithoutPort(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f := flow(t, Config{})
	p := assert.Value(f.Begin(as.authority(), as.public(), "https://Agent.example.com", nil))(t)
	assert.Value(f.Complete(t.Context(), p, "https://agent.example.com:443/?code=C&state="+p.State.Reveal()))(t)
	assert.Equal(t, as.only(t).form.Get("redirect_uri"), "https://Agent.example.com", "redirect_uri")
}

func TestResponseSaysNo(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f, p := startLogin(t, as)
	for code, want := range map[string]string{
		"access_denied": "access_denied", "": "", "<script>": "", "two words": "", "line\nfeed": "",
		strings.Repeat("x", maxCode): strings.Repeat("x", maxCode), strings.Repeat("x", maxCode+1): "",
		"urn:ietf:params:acme:error:no": "", "interaction_required": "interaction_required",
	} {
		_, err := f.Complete(t.Context(), p, callback(p, "error", code, "code", "CODE"))
		wantRefused(t, err, "authorization", 0, want, "%q", code)
		keepsSecrets(t, err, "CANARY", "CODE")
	}
	wantFailed(t, errOf(f.Complete(t.Context(), p, callback(p))), "authorization", false, "neither code nor error")
	assert.Equal(t, len(as.requests()), 0)
}

func TestStateOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://agent.example.com/cb?state=S&code=C": "S", "/cb?code=C&state=S%2B": "S+", "?state=S": "S",
		"/cb?code=C": "", "/cb?state=": "", "/cb?state=a&state=b": "", "/cb?state=" + strings.Repeat("x", 257): "",
		"/cb?state=S&x=%zz": "", strings.Repeat("/", maxCallback) + "?state=S": "",
	} {
		state, err := StateOf(address)
		assert.Equal(t, state, want, "%.60q", address)
		if want != "" {
			assert.OK(t, err, "%.60q", address)
		} else {
			assert.As[*StateError](t, err, "%.60q", address)
		}
	}
}

func TestIssuerOfConfigHasChanged(t *testing.T) {
	as, other := newPeer(t, sends(200, tokenAnswer)), newPeer(t, sends(500, ""))
	_, p := startLogin(t, as)
	moved := flow(t, Config{Issuer: other.url})
	assert.As[*IssuerMismatchError](t, errOf(moved.Complete(t.Context(), p, callback(p, "code", "CODE"))))
	assert.As[*IssuerMismatchError](t, errOf(moved.Refresh(t.Context(), grantOf(as.authority(), as.public()))))
	assert.Equal(t, len(as.requests())+len(other.requests()), 0)
}

func FuzzCallback(f *testing.F) {
	f.Add("https://agent.example.com/cb?state=S&code=C&iss=https://as.example.com")
	f.Add("/cb?state=S&state=T")
	f.Add("?error=%zz;state=S")
	f.Add("//[::1]:x/?state=S#state")
	p := &Pending{
		Grant: AuthorizationCode, State: "S", Expires: time.Now().Add(time.Hour), RedirectURI: "https://agent.example.com/cb",
		Authority: Authority{Issuer: "https://as.example.com", NamesIssuer: true},
	}
	f.Fuzz(func(t *testing.T, address string) {
		state, err := StateOf(address)
		r, err2 := readCallback(address)
		if (err == nil) != (err2 == nil && len(state) > 0) && len(r.query.Get("state")) <= maxState {
			t.Fatalf("%v, %v", err, err2)
		}
		if err2 != nil || r.answers(p, time.Now()) != nil {
			return
		}
		// What is let through is the answer to this login, by any other reading.
		q, err := url.ParseQuery(r.address.RawQuery)
		assert.OK(t, err, "%q was let through", address)
		assert.Equal(t, fmt.Sprint(q["state"], q["iss"]), "[S] [https://as.example.com]", "%q was let through", address)
	})
}
