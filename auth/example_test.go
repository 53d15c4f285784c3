package auth_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// A server that wants tokens, and the authorization server that issues them.
func servers() (as *authtest.Server, address string) {
	as, err := authtest.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	mcp := as.Protect(http.NotFoundHandler(), nil)
	return as, mcp.URL
}

// A whole login: the user visits the address of the Pending, agrees, and their browser
// comes back with a code.
func ExampleFlow_Complete() {
	ctx := context.Background()
	as, address := servers()
	defer as.Close()

	flow, err := auth.New(&auth.Config{Server: "files", URL: address})
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	authority, err := flow.Discover(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	const redirectURI = "http://127.0.0.1:4711/callback"
	client, err := flow.Register(ctx, authority, redirectURI, nil)
	if err != nil {
		log.Fatal(err)
	}
	pending, err := flow.Begin(authority, client, redirectURI, []string{"read"})
	if err != nil {
		log.Fatal(err)
	}
	callback, err := as.Approve(ctx, pending.URL) // the user
	if err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Complete(ctx, pending, callback)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Token.Type, grant.Scopes, grant.Token.Access)
	// Output: Bearer [read] [redacted]
}

// A user who says no is told apart from what went wrong.
func ExampleFlow_Complete_denied() {
	ctx := context.Background()
	as, address := servers()
	defer as.Close()
	flow, pending := begin(address)
	defer flow.Close()

	callback, err := as.Deny(ctx, pending.URL)
	if err != nil {
		log.Fatal(err)
	}
	_, err = flow.Complete(ctx, pending, callback)
	var refused *auth.OAuthError
	if errors.As(err, &refused) && refused.Code == "access_denied" {
		fmt.Println("not logged in:", refused.Server)
	}
	// Output: not logged in: files
}

// A client that was registered before is used again, as long as it can be.
func ExampleFlow_Register() {
	ctx := context.Background()
	as, address := servers()
	defer as.Close()

	flow, err := auth.New(&auth.Config{URL: address, ClientName: "Example agent"})
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	authority, err := flow.Discover(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	const redirectURI = "http://127.0.0.1:4711/callback"
	first, err := flow.Register(ctx, authority, redirectURI, nil)
	if err != nil {
		log.Fatal(err)
	}
	second, err := flow.Register(ctx, authority, redirectURI, first)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(second.ID == first.ID, as.Count(authtest.RegistrationEndpoint))
	// Output: true 1
}

// A login can be stored, sealed, until the user comes back.
func ExampleFlow_Begin() {
	as, address := servers()
	defer as.Close()
	flow, pending := begin(address)
	defer flow.Close()

	data, err := pending.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var stored auth.Pending // perhaps in another process
	if err := stored.UnmarshalBinary(data); err != nil {
		log.Fatal(err)
	}
	page, err := url.Parse(stored.URL)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Query().Get("response_type"), page.Query().Get("code_challenge_method"))
	// Output: code S256
}

// The state of an address tells which login it belongs to.
func ExampleStateOf() {
	state, err := auth.StateOf("https://agent.example.com/callback?code=SplxlOBe&state=af0ifjsldkj")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state)
	// Output: af0ifjsldkj
}

// Tokens that come to an end are renewed, and revoked when they are not needed any more.
func ExampleFlow_Refresh() {
	ctx := context.Background()
	as, address := servers()
	defer as.Close()
	flow, pending := begin(address)
	defer flow.Close()
	callback, err := as.Approve(ctx, pending.URL)
	if err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Complete(ctx, pending, callback)
	if err != nil {
		log.Fatal(err)
	}

	fresh, err := flow.Refresh(ctx, grant)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("another token:", fresh.Token.Access != grant.Token.Access)
	// Output: another token: true
}

func ExampleFlow_Revoke() {
	ctx := context.Background()
	as, address := servers()
	defer as.Close()
	flow, pending := begin(address)
	defer flow.Close()
	callback, err := as.Approve(ctx, pending.URL)
	if err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Complete(ctx, pending, callback)
	if err != nil {
		log.Fatal(err)
	}

	if err := flow.Revoke(ctx, grant); err != nil {
		log.Fatal(err)
	}
	_, err = flow.Refresh(ctx, grant)
	var refused *auth.OAuthError
	if errors.As(err, &refused) {
		fmt.Println(refused.Code)
	}
	// Output: invalid_grant
}

// begin goes the way to a login that waits for its user.
func begin(address string) (*auth.Flow, *auth.Pending) {
	flow, err := auth.New(&auth.Config{Server: "files", URL: address})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	authority, err := flow.Discover(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	const redirectURI = "http://127.0.0.1:4711/callback"
	client, err := flow.Register(ctx, authority, redirectURI, nil)
	if err != nil {
		log.Fatal(err)
	}
	pending, err := flow.Begin(authority, client, redirectURI, []string{"read"})
	if err != nil {
		log.Fatal(err)
	}
	return flow, pending
}
