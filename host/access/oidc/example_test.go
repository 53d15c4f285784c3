package oidc_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/access/oidc"
)

// Tokens with the scope belt.read let their bearer use tools that only read; the scope belt.write all.
func ExampleNew() {
	tokens, err := oidc.New(context.Background(), &oidc.Options{
		Issuers:   []string{"https://login.example"},
		Resource:  "https://belt.example",
		Audiences: []string{"https://belt.example/"}, // what ChatGPT asks for
		Grant: func(c *oidc.Claims) (*access.Grant, error) {
			switch {
			case slices.Contains(c.Scopes, "belt.write"):
				return nil, nil
			case slices.Contains(c.Scopes, "belt.read"):
				return &access.Grant{ReadOnly: true}, nil
			}
			return nil, &access.RefusedError{Status: http.StatusForbidden, Scope: "belt.read", Reason: "no scope of the belt"}
		},
	})
	fmt.Println(tokens != nil, err)
	if err != nil {
		log.Fatal(err)
	}
	// Output: true <nil>
}
