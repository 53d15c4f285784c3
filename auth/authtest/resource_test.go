package authtest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestPlacement(t *testing.T) {
	s := authtest.NewServer(t, nil)
	for placement, want := range map[authtest.Placement]string{
		authtest.MetadataAtPath:    "/.well-known/oauth-protected-resource/mcp",
		authtest.MetadataAtRoot:    "/.well-known/oauth-protected-resource",
		authtest.MetadataElsewhere: "/about/mcp",
		authtest.MetadataNowhere:   "",
	} {
		r := s.Protect(echo(), &authtest.ResourceOptions{Placement: placement})
		a := &app{t: t, server: s, resource: r.URL}
		origin := strings.TrimSuffix(r.URL, "/mcp")
		for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource", "/about/mcp"} {
			if status, _ := a.get(origin + path); (status == 200) != (path == want) {
				t.Errorf("placement %d: %s answers %d", placement, path, status)
			}
		}
		if got := a.call("").Header.Get("WWW-Authenticate"); want != "" && !strings.Contains(got, `resource_metadata="`+origin+want+`"`) || want == "" && got != `Bearer realm="authtest"` {
			t.Errorf("placement %d: challenge %s", placement, got)
		}
		assert.Equal(t, r.Count(authtest.ResourceEndpoint), 1, "requests")
	}
	quiet := s.Protect(echo(), &authtest.ResourceOptions{NoMetadataInChallenge: true, ChallengeScopes: []string{"read", "write"}, Scopes: []string{"read"}, Path: "/deep/path"})
	a := &app{t: t, server: s, resource: quiet.URL}
	assert.Equal(t, a.call("").Header.Get("WWW-Authenticate"), `Bearer scope="read write"`, "challenge")
	if _, about := a.get(quiet.MetadataURL()); about["scopes_supported"].([]any)[0] != "read" || !strings.HasSuffix(quiet.MetadataURL(), "/deep/path") {
		t.Errorf("metadata %v", about)
	}
	assert.Equal(t, a.call("wrong").Header.Get("WWW-Authenticate"), `Bearer error="invalid_token", scope="read write"`, "challenge")
}

// Revision 2025-03-26: the authorization server is the MCP server.
func TestSameOrigin(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{Discovery: authtest.NoMetadata, Resource: authtest.ResourceOptional})
	r := s.Protect(echo(), &authtest.ResourceOptions{SameOrigin: true, Placement: authtest.MetadataNowhere})
	assert.Equal(t, r.URL, s.Issuer+"/mcp", "address")
	a := newApp(t, s, r)
	access, _ := a.login("resource", "")
	a.wantCall(access, 200)
	a.resource = ""
	access, refresh := a.login()
	a.resource = r.URL
	a.wantCall(access, 200)
	_, answer := a.refresh(refresh)
	a.wantCall(answer["access_token"].(string), 200)
}

func TestSameOriginMetadata(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.Protect(echo(), &authtest.ResourceOptions{SameOrigin: true})
	a := newApp(t, s, r)
	if _, about := a.get(r.MetadataURL()); about["resource"] != r.URL {
		t.Errorf("metadata %v", about)
	}
	access, _ := a.login()
	a.wantCall(access, 200)
}

func TestResourceRefused(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{Resource: authtest.ResourceRefused})
	r := s.Protect(echo(), nil)
	a := newApp(t, s, r)
	assert.Equal(t, a.approve().Get("error"), "invalid_target", "error")
	a.resource = ""
	access, _ := a.login()
	a.resource = r.URL
	a.wantCall(access, 200)
}

// Two authorization servers, and tokens of either.
func TestOthers(t *testing.T) {
	one, two, three := authtest.NewServer(t, nil), authtest.NewServer(t, nil), authtest.NewServer(t, nil)
	r := one.Protect(echo(), &authtest.ResourceOptions{Others: []*authtest.Server{two}})
	for s, status := range map[*authtest.Server]int{one: 200, two: 200, three: 401} {
		a := newApp(t, s, r)
		access, _ := a.login()
		a.wantCall(access, status)
	}
	_, about := (&app{t: t, server: one}).get(r.MetadataURL())
	if issuers := about["authorization_servers"].([]any); len(issuers) != 2 || issuers[1] != two.Issuer {
		t.Errorf("metadata %v", about)
	}
}

func TestStepUp(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.Protect(echo(), &authtest.ResourceOptions{Require: authtest.ToolScopes(map[string][]string{"delete": {"read", "admin"}})})
	a := newApp(t, s, r)
	tool := func(access, name string) *http.Response {
		t.Helper()
		q := assert.Value(http.NewRequest(http.MethodPost, r.URL, strings.NewReader(`{"method":"tools/call","params":{"name":"`+name+`"}}`)))(t)
		q.Header.Set("Authorization", "Bearer "+access)
		response := assert.Value(s.Client().Do(q))(t)
		response.Body.Close()
		return response
	}
	access, _ := a.login("scope", "read")
	if response := tool(access, "look"); response.StatusCode != 200 {
		t.Errorf("status %d", response.StatusCode)
	}
	response := tool(access, "delete")
	want := `Bearer error="insufficient_scope", scope="read admin", resource_metadata="` + r.MetadataURL() + `"`
	if got := response.Header.Get("WWW-Authenticate"); response.StatusCode != 403 || got != want {
		t.Errorf("challenge %d %s, want %s", response.StatusCode, got, want)
	}
	access, _ = a.login("scope", "read admin")
	if response := tool(access, "delete"); response.StatusCode != 200 {
		t.Errorf("status %d", response.StatusCode)
	}
	statuses := []int{}
	for _, q := range r.Requests() {
		statuses = append(statuses, q.Status)
	}
	if len(statuses) != 3 || statuses[1] != 403 || !strings.Contains(r.Requests()[1].Body, "delete") {
		t.Errorf("statuses %v", statuses)
	}
}

// A user may grant less than was asked for.
func TestGrantScopes(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{GrantScopes: func(user string, asked []string) []string { return asked[:1] }})
	a := newApp(t, s, s.Protect(echo(), nil))
	if _, answer := a.exchange(a.approve().Get("code")); answer["scope"] != "read" {
		t.Errorf("answer %v", answer)
	}
}
