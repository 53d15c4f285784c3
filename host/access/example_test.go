package access_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/host/access"
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
