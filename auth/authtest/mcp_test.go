package authtest_test

import (
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
	r := s.NewMCP(&authtest.ResourceOptions{Require: authtest.ToolScopes(map[string][]string{"echo": {"admin"}})})
	a := newApp(t, s, r)
	access, _ := a.login("scope", "read")
	session := assert.Value(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:   r.URL,
		HTTPClient: &http.Client{Transport: &bearer{access, s.Client().Transport}},
	}, nil))(t)
	defer session.Close()
	result := assert.Value(session.CallTool(t.Context(), &sdk.CallToolParams{Name: "whoami"}))(t)
	assert.Equal(t, result.Content[0].(*sdk.TextContent).Text, "user read", "whoami says")
	assert.Fails(t, errOf(session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})), "echo needs no admin")
}
