package authtest_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestLogin(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.Protect(echo(), nil)
	a := newApp(t, s, r)

	a.wantCall("", 401)
	assert.Equal(t, a.call("").Header.Get("WWW-Authenticate"), `Bearer resource_metadata="`+r.MetadataURL()+`"`, "challenge")
	about := a.document(r.MetadataURL())
	assert.Equal(t, [...]any{about["resource"], about["authorization_servers"].([]any)[0]}, [...]any{r.URL, s.Issuer}, "resource metadata")
	metadata := a.document(s.Issuer + "/.well-known/oauth-authorization-server")
	assert.Equal(t, [...]any{metadata["issuer"], metadata["token_endpoint"]}, [...]any{s.Issuer, s.URL(authtest.TokenEndpoint)}, "metadata")

	response := a.approve()
	assert.Equal(t, [...]any{response.Get("state"), response.Get("iss")}, [...]any{"some-state", s.Issuer}, "authorization response")
	answer := a.granted(a.exchange(response.Get("code")))
	assert.Equal(t, [...]any{answer["token_type"], answer["scope"], answer["expires_in"]}, [...]any{"Bearer", "read write", 3600.0}, "answer")
	access := answer["access_token"].(string)
	body, _ := io.ReadAll(a.call(access).Body)
	assert.Equal(t, string(body), "user read write", "the handler sees")
	a.wantCall("access-made-up", 401)
	assert.Equal(t, s.Granted("authorization_code"), 1, "grants")
	f, ok := s.Family(access)
	assert.Equal(t, [...]any{ok, f.User, f.Resource, f.ClientID, f.Number}, [...]any{true, "user", r.URL, a.id, 1}, "family")
	for _, secret := range []string{access, response.Get("code"), verifier, answer["refresh_token"].(string)} {
		assert.True(t, slices.Contains(s.Secrets(), secret), "%q is not among the secrets", secret)
	}
}

// Each thing that can be wrong with a login is refused.
func TestLoginWrong(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{Scopes: []string{"read", "write"}})
	r := s.Protect(echo(), nil)
	a := newApp(t, s, r)
	b := newApp(t, s, r)
	for _, c := range []struct {
		change []string
		code   string
	}{
		{[]string{"response_type", "token"}, "unsupported_response_type"},
		{[]string{"code_challenge", ""}, "invalid_request"},
		{[]string{"code_challenge_method", "plain"}, "invalid_request"},
		{[]string{"resource", ""}, "invalid_target"},
		{[]string{"resource", "relative"}, "invalid_target"},
		{[]string{"resource", r.URL + "#x"}, "invalid_target"},
		{[]string{"scope", "other"}, "invalid_scope"},
	} {
		response := a.approve(c.change...)
		assert.Equal(t, response.Get("error")+" "+response.Get("iss"), c.code+" "+s.Issuer, "%q: response", c.change)
		assert.False(t, response.Has("code"), "%q: code", c.change)
	}
	for _, change := range [][]string{{"redirect_uri", "http://127.0.0.1:1/other"}, {"client_id", "unknown"}} {
		address := s.URL(authtest.AuthorizationEndpoint) + "?" + a.query(change...).Encode()
		assert.Fails(t, errOf(s.Approve(context.Background(), address)), "%q: approved", change)
	}
	for _, c := range []struct {
		change []string
		code   string
	}{
		{[]string{"code", "code-unknown"}, "invalid_grant"},
		{[]string{"code_verifier", "another-verifier-of-the-same-length-as-the-first"}, "invalid_grant"},
		{[]string{"code_verifier", ""}, "invalid_grant"},
		{[]string{"redirect_uri", ""}, "invalid_grant"},
		{[]string{"client_id", b.id}, "invalid_grant"},
		{[]string{"client_id", "unknown"}, "invalid_client"},
		{[]string{"resource", ""}, "invalid_target"},
		{[]string{"resource", "https://other.example/mcp"}, "invalid_target"},
		{[]string{"grant_type", "password"}, "unsupported_grant_type"},
		{[]string{"grant_type", "client_credentials"}, "unsupported_grant_type"},
	} {
		a.want(c.code)(a.exchange(a.approve().Get("code"), c.change...))
	}
	assert.Equal(t, len(s.Families()), 0, "logins")
}

func TestDeny(t *testing.T) {
	s, a := newServer(t, nil)
	callback := assert.Value(s.Deny(context.Background(), s.URL(authtest.AuthorizationEndpoint)+"?"+a.query().Encode()))(t)
	assert.Contains(t, callback, "error=access_denied", "sent")
}

// A code that is used twice ends what the first use has brought.
func TestCodeTwice(t *testing.T) {
	_, a := newServer(t, nil)
	code := a.approve().Get("code")
	_, answer := a.exchange(code)
	a.wantCall(answer["access_token"].(string), 200)
	a.want("invalid_grant")(a.exchange(code))
	a.wantCall(answer["access_token"].(string), 401)
}

// A token of one resource does not open another.
func TestAudience(t *testing.T) {
	s, a := newServer(t, nil)
	r := s.Protect(echo(), nil)
	access, _ := a.login()
	a.wantCall(access, 200)
	a.resource = r.URL
	a.wantCall(access, 401)
	got := r.Requests()[0]
	assert.Equal(t, [...]any{got.Status, got.Header.Get("Authorization")}, [...]any{401, "Bearer " + access}, "request")
}

func TestIss(t *testing.T) {
	for iss, want := range map[authtest.Iss]struct {
		got        string
		advertised bool
	}{
		authtest.IssAdvertised:        {"right", true},
		authtest.IssAbsent:            {"", false},
		authtest.IssUnadvertised:      {"right", false},
		authtest.IssWrong:             {authtest.WrongIssuer, true},
		authtest.IssWrongUnadvertised: {authtest.WrongIssuer, false},
		authtest.IssMissing:           {"", true},
	} {
		s, a := newServer(t, &authtest.Options{Iss: iss})
		if want.got == "right" {
			want.got = s.Issuer
		}
		for _, response := range []url.Values{a.approve(), a.approve("scope", "read", "response_type", "token")} {
			assert.Equal(t, response.Get("iss"), want.got, "%d: response %v, want %q", iss, response, want.got)
		}
		metadata := a.document(s.URL(authtest.MetadataEndpoint))
		assert.Equal(t, metadata["authorization_response_iss_parameter_supported"] == true, want.advertised, "%d: advertised", iss)
	}
}

// The metadata is where the options say, and nowhere else.
func TestPlaces(t *testing.T) {
	places := func(path string) []string {
		return []string{
			"/.well-known/oauth-authorization-server" + path,
			"/.well-known/openid-configuration" + path,
			path + "/.well-known/openid-configuration",
		}
	}
	for _, path := range []string{"", "/tenant1"} {
		for discovery, want := range map[authtest.Discovery]int{
			authtest.OAuthMetadata: 0, authtest.OpenIDInserted: 1, authtest.OpenIDAppended: 2, authtest.NoMetadata: 3,
		} {
			s := authtest.NewServer(t, &authtest.Options{Path: path, Discovery: discovery})
			a := &app{t: t, server: s}
			for i, place := range places(path) {
				status, metadata := a.get(strings.TrimSuffix(s.Issuer, path) + place)
				found := status == 200 && metadata["issuer"] == s.Issuer
				assert.Equal(t, found, i == want || path == "" && want > 0 && want < 3 && i > 0, "issuer %q, discovery %d: %s answers %d", path, discovery, place, status)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{TLS: true})
	r := s.Protect(echo(), nil)
	a := newApp(t, s, r)
	access, _ := a.login()
	a.wantCall(access, 200)
	transport := &http.Transport{TLSClientConfig: s.TLS()}
	defer transport.CloseIdleConnections()
	for _, address := range []string{s.URL(authtest.MetadataEndpoint), r.MetadataURL()} {
		assert.Contains(t, address, "https://")
		assert.OK(t, assert.Value((&http.Client{Transport: transport}).Get(address))(t).Body.Close())
	}
}

// visit sends a form as a browser and returns the page, or where it is sent.
func visit(t *testing.T, s *authtest.Server, address string, form url.Values) (page, location string) {
	t.Helper()
	browser := *s.Client()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var response *http.Response
	var err error
	if form == nil {
		response, err = browser.Get(address)
	} else {
		response, err = browser.PostForm(address, form)
	}
	assert.OK(t, err)
	defer response.Body.Close()
	data := assert.Value(io.ReadAll(response.Body))(t)
	return string(data), response.Header.Get("Location")
}

func TestLoginPage(t *testing.T) {
	s, a := newServer(t, &authtest.Options{LoginPage: true, Users: map[string]string{"alice": "wonder"}})
	address := s.URL(authtest.AuthorizationEndpoint) + "?" + a.query("scope", `read <script>`).Encode()
	page, location := visit(t, s, address, nil)
	assert.Equal(t, location, "", "page")
	assert.Contains(t, page, `name="password"`, "page")
	assert.Lacks(t, page, "<script>", "page")
	for _, wrong := range []url.Values{
		{"user": {"alice"}, "password": {"wrong"}}, {"user": {"bob"}, "password": {""}}, {},
	} {
		page, location := visit(t, s, address, wrong)
		assert.Equal(t, location, "", "%v: sent", wrong)
		assert.Contains(t, page, "is wrong", "%v: sent", wrong)
	}
	_, location = visit(t, s, address, url.Values{"decision": {"deny"}})
	assert.Contains(t, location, "error=access_denied", "sent to")
	_, location = visit(t, s, address, url.Values{"user": {"alice"}, "password": {"wonder"}, "decision": {"approve"}})
	u := assert.Value(url.Parse(location))(t)
	a.granted(a.exchange(u.Query().Get("code")))
	assert.Equal(t, s.Families()[0].User, "alice", "user")
	a.login() // Approve needs no page
}

func TestDevicePage(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{
		Device:  &authtest.DeviceOptions{},
		Users:   map[string]string{"alice": "wonder"},
		Clients: []authtest.Client{{ID: "tv"}},
	})
	a := &app{t: t, server: s, id: "tv", resource: "https://mcp.example/mcp"}
	_, answer := a.post(authtest.DeviceEndpoint, url.Values{"client_id": {"tv"}, "resource": {a.resource}})
	address, code := answer["verification_uri_complete"].(string), answer["user_code"].(string)
	page, _ := visit(t, s, address, nil)
	assert.Contains(t, page, `value="`+code+`"`, "page")
	form := url.Values{"user_code": {code}, "user": {"alice"}, "password": {"wrong"}, "decision": {"approve"}}
	for _, want := range []string{"is wrong", "Done", "not known"} {
		page, _ := visit(t, s, address, form)
		assert.Contains(t, page, want, "page")
		form.Set("password", "wonder")
	}
	a.granted(a.token("grant_type", "urn:ietf:params:oauth:grant-type:device_code", "device_code", answer["device_code"].(string)))
	assert.Equal(t, s.Families()[0].User, "alice", "user")
}
