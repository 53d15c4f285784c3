package authtest_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestLogin(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.Protect(echo(), nil)
	a := newApp(t, s, r)

	a.wantCall("", 401)
	assert.Equal(t, a.call("").Header.Get("WWW-Authenticate"), `Bearer resource_metadata="`+metadataURL(r)+`"`, "challenge")
	about := a.document(metadataURL(r))
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
	assert.Equal(t, [...]any{ok, f.User, f.Resource, f.ClientID}, [...]any{true, "user", r.URL, a.id}, "family")
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

func TestTLS(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{TLS: true})
	r := s.Protect(echo(), nil)
	a := newApp(t, s, r)
	access, _ := a.login()
	a.wantCall(access, 200)
	for _, address := range []string{s.URL(authtest.MetadataEndpoint), metadataURL(r)} {
		assert.Contains(t, address, "https://")
		assert.OK(t, assert.Value(s.Client().Get(address))(t).Body.Close())
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
	return string(assert.Value(io.ReadAll(response.Body))(t)), response.Header.Get("Location")
}

func TestLoginPage(t *testing.T) {
	s, a := newServer(t, &authtest.Options{LoginPage: true})
	address := s.URL(authtest.AuthorizationEndpoint) + "?" + a.query("scope", `read <script>`).Encode()
	page, location := visit(t, s, address, nil)
	assert.Equal(t, location, "", "page")
	assert.Contains(t, page, `name="password"`, "page")
	assert.Lacks(t, page, "<script>", "page")
	_, location = visit(t, s, address, url.Values{"decision": {"deny"}})
	assert.Contains(t, location, "error=access_denied", "sent to")
	_, location = visit(t, s, address, url.Values{"user": {"alice"}, "password": {"wonder"}, "decision": {"approve"}})
	a.granted(a.exchange(assert.Value(url.Parse(location))(t).Query().Get("code")))
	assert.Equal(t, s.Families()[0].User, "alice", "user")
	a.login() // Approve needs no page
}
