package access_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A proxy has authenticated the user, who may use the servers of the team, as far as their tools only
// read.
func ExampleAuthenticator() {
	var authenticate access.Authenticator = func(r *http.Request) (*access.Caller, error) {
		user := r.Header.Get("X-Forwarded-User")
		if user == "" {
			return nil, errors.New("the proxy names no user")
		}
		return &access.Caller{User: user, Grant: &access.Grant{Servers: []string{"team-*"}, ReadOnly: true}}, nil
	}
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("X-Forwarded-User", "ada")
	caller, err := authenticate(r)
	fmt.Println(caller.User, err)
	// Output: ada <nil>
}

// A program makes a key, hands its secret out once, and takes it from then on.
func ExampleKeys() {
	ctx := context.Background()
	store := storage.NewMemory() // or that of a database, see package sqlstore
	keys, err := access.LoadKeys(ctx, store, "keys")
	if err != nil {
		log.Fatal(err)
	}
	secret, key, err := keys.Create(ctx, access.KeyOptions{Label: "laptop", User: "ada", Grant: &access.Grant{ReadOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	caller, err := keys.Authenticate(r)
	fmt.Println(caller.User, err)
	if err := keys.Revoke(ctx, key.ID); err != nil {
		log.Fatal(err)
	}
	_, err = keys.Authenticate(r)
	fmt.Println(err != nil)
	// Output:
	// ada <nil>
	// true
}

// A label is mended, and the key becomes one that only reads.
func ExampleKeys_Change() {
	ctx := context.Background()
	keys, err := access.LoadKeys(ctx, storage.NewMemory(), "keys")
	if err != nil {
		log.Fatal(err)
	}
	_, key, err := keys.Create(ctx, access.KeyOptions{Label: "labtop"})
	if err != nil {
		log.Fatal(err)
	}
	key.Label, key.Grant = "laptop", &access.Grant{ReadOnly: true}
	if err := keys.Change(ctx, key.ID, key.KeyOptions); err != nil {
		log.Fatal(err)
	}
	list, err := keys.List(ctx)
	fmt.Println(list[0].Label, err)
	// Output: laptop <nil>
}

// A request may carry an API key, or be one that a proxy has authenticated.
func ExampleAny() {
	keys, err := access.LoadKeys(context.Background(), storage.NewMemory(), "keys")
	if err != nil {
		log.Fatal(err)
	}
	proxy := func(r *http.Request) (*access.Caller, error) {
		user := r.Header.Get("X-Forwarded-User")
		if user == "" {
			return nil, access.ErrUnrecognized
		}
		return &access.Caller{User: user, Credential: "proxy"}, nil
	}
	either := access.Any(keys.Authenticate, proxy)
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("X-Forwarded-User", "ada")
	caller, err := either(r)
	fmt.Println(caller.User, err)
	// Output: ada <nil>
}

// The answer to a request that is refused.
func ExampleRefuse() {
	resource := &access.Resource{AuthorizationServers: []string{"https://login.example"}}
	w := httptest.NewRecorder()
	access.Refuse(w, httptest.NewRequest("POST", "https://belt.example/mcp", nil), resource, access.ErrUnrecognized)
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer resource_metadata="https://belt.example/.well-known/oauth-protected-resource/mcp"
}

// The metadata of a view.
func ExampleResource() {
	resource := &access.Resource{AuthorizationServers: []string{"https://login.example"}}
	w := httptest.NewRecorder()
	resource.ServeHTTP(w, httptest.NewRequest("GET", "https://belt.example"+access.MetadataPath+"/p/office/mcp", nil))
	fmt.Println(w.Body)
	// Output: {"resource":"https://belt.example/p/office/mcp","authorization_servers":["https://login.example"],"bearer_methods_supported":["header"]}
}
