package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

// A whole login: the user visits the address of the Pending, agrees, and their browser
// comes back with a code.
func ExampleFlow_Complete() {
	as, err := authtest.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer as.Close()
	files := as.NewMCP(nil) // a server that wants tokens

	flow, err := auth.New(&auth.Config{Server: "files", URL: files.URL})
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	ctx := context.Background()
	authority, err := flow.Discover(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	const redirectURI = "http://127.0.0.1:4711/callback"
	client, err := flow.Register(ctx, authority, redirectURI, nil, nil)
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
	as, flow, pending := begin()
	defer as.Close()
	defer flow.Close()

	callback, err := as.Deny(context.Background(), pending.URL)
	if err != nil {
		log.Fatal(err)
	}
	_, err = flow.Complete(context.Background(), pending, callback)
	var refused *auth.OAuthError
	if errors.As(err, &refused) && refused.Code == "access_denied" {
		fmt.Println("not logged in:", refused.Server)
	}
	// Output: not logged in: files
}

// A client that was registered before is used again, as long as it can be.
func ExampleFlow_Register() {
	as, flow, pending := begin()
	defer as.Close()
	defer flow.Close()

	client, err := flow.Register(context.Background(), &pending.Authority, pending.RedirectURI, nil, &pending.Client)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.ID == pending.Client.ID, as.Count(authtest.RegistrationEndpoint))
	// Output: true 1
}

// A login can be stored, sealed, until the user comes back.
func ExampleFlow_Begin() {
	as, flow, pending := begin()
	defer as.Close()
	defer flow.Close()

	data, err := pending.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var stored auth.Pending // perhaps in another process
	if err := stored.UnmarshalBinary(data); err != nil {
		log.Fatal(err)
	}
	fmt.Println(stored.Server, stored.RedirectURI)
	// Output: files http://127.0.0.1:4711/callback
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
	as, flow, grant := logIn()
	defer as.Close()
	defer flow.Close()

	fresh, err := flow.Refresh(context.Background(), grant)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("another token:", fresh.Token.Access != grant.Token.Access)
	// Output: another token: true
}

func ExampleFlow_Revoke() {
	as, flow, grant := logIn()
	defer as.Close()
	defer flow.Close()

	if err := flow.Revoke(context.Background(), grant); err != nil {
		log.Fatal(err)
	}
	_, err := flow.Refresh(context.Background(), grant)
	var refused *auth.OAuthError
	if errors.As(err, &refused) {
		fmt.Println(refused.Code)
	}
	// Output: invalid_grant
}

// newFlow returns a server that knows its users by an authorization server, and a Flow
// that has a client there.
func newFlow(o *authtest.Options, c auth.Config, redirectURI string) (*authtest.Server, *auth.Flow, *auth.Authority, *auth.Client) {
	as := must(authtest.New(o))
	c.Server, c.URL = "files", as.NewMCP(&authtest.ResourceOptions{Scopes: []string{"files:read"}}).URL
	flow := must(auth.New(&c))
	authority := must(flow.Discover(context.Background(), nil))
	client := must(flow.Register(context.Background(), authority, redirectURI, nil, nil))
	return as, flow, authority, client
}

// begin goes the way to a login that waits for its user.
func begin() (*authtest.Server, *auth.Flow, *auth.Pending) {
	const redirectURI = "http://127.0.0.1:4711/callback"
	as, flow, authority, client := newFlow(nil, auth.Config{}, redirectURI)
	pending := must(flow.Begin(authority, client, redirectURI, []string{"read"}))
	return as, flow, pending
}

// logIn goes the way to a grant.
func logIn() (*authtest.Server, *auth.Flow, *auth.TokenSet) {
	as, flow, pending := begin()
	callback := must(as.Approve(context.Background(), pending.URL))
	grant := must(flow.Complete(context.Background(), pending, callback))
	return as, flow, grant
}

// must ends the program if err is not nil.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// The user of a program without a browser types a short code at another machine.
func ExampleFlow_BeginDevice() {
	device := &authtest.Options{Device: time.Second}
	as, flow, authority, client := newFlow(device, auth.Config{Grant: auth.DeviceCode}, "")
	defer as.Close()
	defer flow.Close()

	pending, err := flow.BeginDevice(context.Background(), authority, client, []string{"files:read"})
	if err != nil {
		log.Fatal(err)
	}
	pending.Device.Interval = time.Millisecond // an example has no time
	// Show pending.URL and pending.Device.UserCode. The user types the code:
	if err := as.ApproveDevice(pending.Device.UserCode); err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Poll(context.Background(), pending)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Token.Type, grant.Scopes)
	// Output: Bearer [files:read]
}

// A login that waits can be stored, sealed, and be polled for by another process.
func ExampleFlow_Poll() {
	device := &authtest.Options{Device: time.Second}
	as, flow, authority, client := newFlow(device, auth.Config{Grant: auth.DeviceCode}, "")
	defer as.Close()
	defer flow.Close()
	begun, err := flow.BeginDevice(context.Background(), authority, client, nil)
	if err != nil {
		log.Fatal(err)
	}
	data, err := begun.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}

	var stored auth.Pending // perhaps in another process
	if err := stored.UnmarshalBinary(data); err != nil {
		log.Fatal(err)
	}
	stored.Device.Interval = time.Millisecond                     // an example has no time
	if err := as.DenyDevice(stored.Device.UserCode); err != nil { // the user
		log.Fatal(err)
	}
	_, err = flow.Poll(context.Background(), &stored)
	var refused *auth.OAuthError
	fmt.Println(errors.As(err, &refused), refused.Code)
	// Output: true access_denied
}

func ExampleNew() {
	flow, err := auth.New(&auth.Config{
		Server:       "files",
		URL:          "https://mcp.example.com/mcp",
		Registration: auth.Registration{ClientMetadataURL: "https://agent.example.com/client.json"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flow.Close()

	_, err = auth.New(&auth.Config{
		Server: "files",
		URL:    "https://mcp.example.com/mcp",
		Client: &auth.Client{ID: "agent", Secret: "s"},
	})
	fmt.Println(err)
	// Output:
	// auth: server "files": Client.Issuer is empty: name the authorization server that has registered the client, so that its credentials go to no other
}

func ExampleFlow_Discover() {
	as, flow, _, _ := newFlow(nil, auth.Config{}, "http://127.0.0.1:4711/callback")
	defer as.Close()
	defer flow.Close()

	authority, err := flow.Discover(context.Background(), nil)
	var mismatch *auth.IssuerMismatchError
	switch {
	case errors.As(err, &mismatch):
		fmt.Println("not to be trusted:", err)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(authority.Issuer == as.Issuer, authority.HasMetadata, authority.ResourceScopes)
	}
	// Output: true true [files:read]
}

func ExampleFlow_ChooseScopes() {
	as, flow, authority, _ := newFlow(nil, auth.Config{}, "http://127.0.0.1:4711/callback")
	defer as.Close()
	defer flow.Close()

	scopes := flow.ChooseScopes(authority, nil, nil)
	fmt.Println(scopes)
	// A tool needs more.
	refused := http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="files:write"`}}
	scopes = flow.ChooseScopes(authority, auth.Challenges(refused), scopes)
	fmt.Println(scopes)
	// Output:
	// [files:read]
	// [files:read files:write]
}

func ExampleChallenges() {
	header := http.Header{}
	header.Add("WWW-Authenticate", `Bearer scope="files:read", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"`)
	for _, c := range auth.Challenges(header) {
		fmt.Println(c.Scheme, c.Params["scope"])
	}
	// Output: bearer files:read
}

// A program logs in as itself.
func ExampleFlow_Obtain() {
	as, err := authtest.New(&authtest.Options{
		Clients: []authtest.Client{{ID: "nightly-report", Secret: "s3cret"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer as.Close()
	files := as.NewMCP(nil) // a server that wants tokens

	flow, err := auth.New(&auth.Config{
		Server: "files",
		URL:    files.URL,
		Grant:  auth.ClientCredentials,
		Client: &auth.Client{Issuer: as.Issuer, ID: "nightly-report", Secret: "s3cret"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	ctx := context.Background()
	authority, err := flow.Discover(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, err := flow.Register(ctx, authority, "", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Obtain(ctx, authority, client, []string{"files:read"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Token.Type, grant.Scopes, grant.Token.Access)
	// Output: Bearer [files:read] [redacted]
}

// What lets a request in belongs to that request: a proof of possession is good
// for no other.
func ExampleTokenSet_Authorize() {
	body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	request := func(ctx context.Context, grant *auth.TokenSet, url, nonce string) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		return req, grant.Authorize(req.Header, req.Method, url, []byte(body), nonce)
	}
	grant := &auth.TokenSet{Token: auth.Token{Access: "a-token", Type: "Bearer"}}
	req, err := request(context.Background(), grant, "https://mcp.example.com/mcp", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(req.Header.Get("Authorization"))
	// Output: Bearer a-token
}

func ExampleParsePrivateKey() {
	// As if it were read from a file.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		log.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})

	signer, err := auth.ParsePrivateKey(text)
	if err != nil {
		log.Fatal(err)
	}
	flow, err := auth.New(&auth.Config{
		URL:        "https://mcp.example.com/mcp",
		Grant:      auth.ClientCredentials,
		Client:     &auth.Client{Issuer: "https://login.example.com", ID: "nightly-report"},
		SigningKey: &auth.SigningKey{Signer: signer, ID: "2026-11"},
	})
	if err != nil {
		log.Fatal(err)
	}
	flow.Close()
	fmt.Printf("%T\n", signer)
	// Output: *ecdsa.PrivateKey
}
