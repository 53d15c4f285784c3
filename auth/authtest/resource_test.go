package authtest_test

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestResourceRefused(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{ResourceRefused: true})
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
	issuers := (&app{t: t, server: one}).document(metadataURL(r))["authorization_servers"].([]any)
	assert.Equal(t, [...]any{len(issuers), issuers[1]}, [...]any{2, two.Issuer}, "issuers")
}

func TestStepUp(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.Protect(echo(), &authtest.ResourceOptions{ToolScopes: map[string][]string{"delete": {"read", "admin"}}})
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
	assert.Equal(t, tool(access, "look").StatusCode, 200, "status")
	response := tool(access, "delete")
	want := `Bearer error="insufficient_scope", scope="read admin", resource_metadata="` + metadataURL(r) + `"`
	assert.Equal(t, [...]any{response.StatusCode, response.Header.Get("WWW-Authenticate")}, [...]any{403, want}, "challenge")
	access, _ = a.login("scope", "read admin")
	assert.Equal(t, tool(access, "delete").StatusCode, 200, "status")
	assert.Equal(t, len(r.Requests()), 3, "requests")
	assert.Equal(t, r.Requests()[1].Status, 403, "status")
	assert.Contains(t, r.Requests()[1].Body, "delete", "body")
}

// A user may grant less than was asked for.
func TestGrantScopes(t *testing.T) {
	_, a := newServer(t, &authtest.Options{GrantScopes: func(user string, asked []string) []string { return asked[:1] }})
	assert.Equal(t, a.granted(a.exchange(a.approve().Get("code")))["scope"], any("read"), "scope")
}

// A bearer adds a token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func TestMCP(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.NewMCP(&authtest.ResourceOptions{ToolScopes: map[string][]string{"echo": {"admin"}}})
	access, _ := newApp(t, s, r).login("scope", "read")
	session := assert.Value(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:   r.URL,
		HTTPClient: &http.Client{Transport: &bearer{access, s.Client().Transport}},
	}, nil))(t)
	defer session.Close()
	result := assert.Value(session.CallTool(t.Context(), &sdk.CallToolParams{Name: "whoami"}))(t)
	assert.Equal(t, result.Content[0].(*sdk.TextContent).Text, "user read", "whoami says")
	assert.Fails(t, errOf(session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})), "echo needs no admin")
}
