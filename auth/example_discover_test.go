package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/auth"
)

// newExampleServer returns an MCP server that is its own authorization server.
func newExampleServer() *httptest.Server {
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	document := func(path, format string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, format, srv.URL)
		})
	}
	document("/.well-known/oauth-protected-resource/mcp",
		`{"resource": "%[1]s/mcp", "authorization_servers": ["%[1]s"], "scopes_supported": ["files:read"]}`)
	document("/.well-known/oauth-authorization-server",
		`{"issuer": "%[1]s", "authorization_endpoint": "%[1]s/authorize", "token_endpoint": "%[1]s/token",
		"code_challenge_methods_supported": ["S256"], "scopes_supported": ["files:read", "offline_access"]}`)
	return srv
}

func ExampleNew() {
	flow, err := auth.New(&auth.Config{
		Server:            "files",
		URL:               "https://mcp.example.com/mcp",
		ClientMetadataURL: "https://agent.example.com/client.json",
		MaxScopes:         []string{"files:read", "files:write"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flow.Close()

	_, err = auth.New(&auth.Config{
		Server: "files",
		URL:    "https://mcp.example.com/mcp",
		Client: &auth.Client{ID: "agent"},
	})
	fmt.Println(err)
	// Output:
	// auth: server "files": Client.Issuer is empty: name the authorization server that has registered the client, so that its credentials go to no other
}

func ExampleFlow_Discover() {
	srv := newExampleServer()
	defer srv.Close()

	flow, err := auth.New(&auth.Config{URL: srv.URL + "/mcp"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flow.Close()
	authority, err := flow.Discover(context.Background(), nil)
	var mismatch *auth.IssuerMismatchError
	switch {
	case errors.As(err, &mismatch):
		fmt.Println("not to be trusted:", err)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(authority.Issuer == srv.URL, authority.HasMetadata, authority.ResourceScopes)
	}
	// Output: true true [files:read]
}

func ExampleFlow_ChooseScopes() {
	srv := newExampleServer()
	defer srv.Close()

	flow, err := auth.New(&auth.Config{
		URL:       srv.URL + "/mcp",
		MaxScopes: []string{"files:read", "files:write"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flow.Close()
	authority, err := flow.Discover(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	scopes, err := flow.ChooseScopes(authority, nil, nil)
	fmt.Println(scopes, err)

	// A tool needs more.
	refused := http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="files:write"`}}
	scopes, err = flow.ChooseScopes(authority, auth.Challenges(refused), scopes)
	fmt.Println(scopes, err)
	// Output:
	// [files:read offline_access] <nil>
	// [files:read offline_access files:write] <nil>
}

func ExampleChallenges() {
	header := http.Header{}
	header.Add("WWW-Authenticate", `Bearer scope="files:read", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"`)
	for _, c := range auth.Challenges(header) {
		fmt.Println(c.Scheme, c.Params["scope"])
	}
	// Output: bearer files:read
}
