package authtest_test

import (
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
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
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:   r.URL,
		HTTPClient: &http.Client{Transport: &bearer{access, s.Client().Transport}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "whoami"})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Content[0].(*sdk.TextContent).Text; got != "user read" {
		t.Errorf("whoami says %q", got)
	}
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}); err == nil {
		t.Error("echo needs no admin")
	}
}
