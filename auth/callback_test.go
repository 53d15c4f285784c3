package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
				var mismatch *IssuerMismatchError
				switch {
				case row.ok && refused:
					no := assert.As[*OAuthError](t, err)
					assert.Equal(t, [...]any{no.Code, no.Request}, [...]any{"sneaky_error", "authorization"})
				case row.ok:
					assert.OK(t, err)
					assert.Equal(t, g.Token.Access, "AT")
				case !errors.As(err, &mismatch) || mismatch.What != "response" || mismatch.Want != as.url:
					t.Errorf("%v, want a mismatch", err)
				}
				if err != nil {
					keepsSecrets(t, err, "sneaky_description", "CODE")
				}
				if !row.ok {
					keepsSecrets(t, err, "sneaky_error")
					assert.Equal(t, len(err.Error()) <= 1000, true, "an")
				}
				if sent := len(as.requests()); sent > 0 != (row.ok && !refused) {
					t.Errorf("%d requests", sent)
				}
			})
		}
	}
}

func TestStateOfResponse(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f, a := flow(t, Config{}), as.authority()
	p, other := begin(t, f, a, as.public()), begin(t, f, a, as.public())
	late := *p
	late.Expires = time.Now().Add(-time.Second)
	device := *p
	device.Grant = DeviceCode
	stateless := *p
	stateless.State = ""
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
		func(s string) string { return s },
		func(s string) string { return " " + s + "\r\n" },
		func(s string) string { return s[strings.Index(s, "/callback"):] },
		func(s string) string { return s[strings.Index(s, "?"):] },
		func(s string) string { return s + "#_=_" },
		func(s string) string { return s + "&session_state=1&session_state=2" },
		func(s string) string { return strings.Replace(s, "http://", "HTTP://", 1) },
	} {
		as := newPeer(t, sends(200, tokenAnswer))
		f := flow(t, Config{})
		p := begin(t, f, as.authority(), as.public())
		address := form(callback(p, "code", "a+b/c="))
		_, err := f.Complete(t.Context(), p, address)
		assert.OK(t, err, "%q", address)
		assert.Equal(t, as.only(t).form.Get("code"), "a+b/c=", "sends the code")
	}
}

func TestRedirectURIWithoutPort(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f := flow(t, Config{})
	p := assert.Value(f.Begin(as.authority(), as.public(), "https://Agent.example.com", nil))(t)
	assert.Value(f.Complete(t.Context(), p, "https://agent.example.com:443/?code=C&state="+p.State.Reveal()))(t)
	assert.Equal(t, as.only(t).form.Get("redirect_uri"), "https://Agent.example.com", "redirect_uri, not as it")
}

func TestResponseSaysNo(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f := flow(t, Config{})
	p := begin(t, f, as.authority(), as.public())
	for code, want := range map[string]string{
		"access_denied":                 "access_denied",
		"":                              "",
		"<script>":                      "",
		"two words":                     "",
		"line\nfeed":                    "",
		strings.Repeat("x", maxCode):    strings.Repeat("x", maxCode),
		strings.Repeat("x", maxCode+1):  "",
		"urn:ietf:params:acme:error:no": "",
		"interaction_required":          "interaction_required",
	} {
		_, err := f.Complete(t.Context(), p, callback(p, "error", code, "error_description", "CANARY", "code", "CODE"))
		no := assert.As[*OAuthError](t, err, "%q", code)
		assert.Equal(t, [...]any{no.Code, no.Status}, [...]any{want, 0}, "%q", code)
		keepsSecrets(t, err, "CANARY", "CODE")
	}
	_, err := f.Complete(t.Context(), p, callback(p))
	none := assert.As[*RequestError](t, err)
	assert.Equal(t, [...]any{none.Request, none.Host == ""}, [...]any{"authorization", false}, "neither code nor")
	assert.Equal(t, len(as.requests()), 0)
}

func TestStateOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://agent.example.com/cb?state=S&code=C": "S",
		"/cb?code=C&state=S%2B":                       "S+",
		"?state=S":                                    "S",
		"/cb?code=C":                                  "",
		"/cb?state=":                                  "",
		"/cb?state=a&state=b":                         "",
		"/cb?state=" + strings.Repeat("x", 257):       "",
		"/cb?state=S&x=%zz":                           "",
		strings.Repeat("/", maxCallback) + "?state=S": "",
	} {
		state, err := StateOf(address)
		assert.Equal(t, state, want, "%.60q", address)
		if wrong := (*StateError)(nil); err != nil != (want == "") || err != nil && !errors.As(err, &wrong) {
			t.Errorf("%.60q: %v", address, err)
		}
	}
}

func TestIssuerOfConfigHasChanged(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	f := flow(t, Config{})
	p := begin(t, f, as.authority(), as.public())
	other := newPeer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
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
		if err != nil || len(q["state"]) != 1 || q.Get("state") != "S" || len(q["iss"]) != 1 || q.Get("iss") != "https://as.example.com" {
			t.Fatalf("let through %q", address)
		}
	})
}
