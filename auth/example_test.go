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
	"net/http/httptest"
	"net/url"
	"strings"

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

// The user of a program without a browser types a short code at another machine.
func ExampleFlow_BeginDevice() {
	server, err := authtest.New(&authtest.Options{Device: &authtest.DeviceOptions{}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	files := server.NewMCP(nil)

	flow, err := auth.New(&auth.Config{Server: "files", URL: files.URL, Grant: auth.DeviceCode})
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	ctx := context.Background()
	authority, err := flow.Discover(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, err := flow.Register(ctx, authority, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	pending, err := flow.BeginDevice(ctx, authority, client, []string{"files:read"})
	if err != nil {
		log.Fatal(err)
	}
	// Show pending.URL and pending.Device.UserCode. The user types the code:
	if err := server.ApproveDevice(pending.Device.UserCode); err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Poll(ctx, pending)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Token.Type, grant.Scopes)
	// Output: Bearer [files:read]
}

// A login that waits can be stored, sealed, and be polled for by another process.
func ExampleFlow_Poll() {
	server, err := authtest.New(&authtest.Options{Device: &authtest.DeviceOptions{}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	files := server.NewMCP(nil)
	config := &auth.Config{Server: "files", URL: files.URL, Grant: auth.DeviceCode}

	begin := func(ctx context.Context) []byte {
		flow, err := auth.New(config)
		if err != nil {
			log.Fatal(err)
		}
		defer flow.Close()
		authority, err := flow.Discover(ctx, nil)
		if err != nil {
			log.Fatal(err)
		}
		client, err := flow.Register(ctx, authority, "", nil)
		if err != nil {
			log.Fatal(err)
		}
		pending, err := flow.BeginDevice(ctx, authority, client, nil)
		if err != nil {
			log.Fatal(err)
		}
		stored, err := pending.MarshalBinary()
		if err != nil {
			log.Fatal(err)
		}
		return stored
	}

	ctx := context.Background()
	var pending auth.Pending
	if err := pending.UnmarshalBinary(begin(ctx)); err != nil {
		log.Fatal(err)
	}
	if err := server.DenyDevice(pending.Device.UserCode); err != nil {
		log.Fatal(err)
	}
	flow, err := auth.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer flow.Close()
	_, err = flow.Poll(ctx, &pending)
	fmt.Println(err)
	// Output: auth: server "files": token refused: access_denied (HTTP status 400)
}

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

// A program logs in as itself, and makes a request with what it got.
func ExampleFlow_Obtain() {
	server, err := authtest.New(&authtest.Options{
		Clients: []authtest.Client{{ID: "nightly-report", Secret: "s3cret"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	files := server.NewMCP(nil)

	flow, err := auth.New(&auth.Config{
		Server: "files",
		URL:    files.URL,
		Grant:  auth.ClientCredentials,
		Client: &auth.Client{Issuer: server.Issuer, ID: "nightly-report", Secret: "s3cret"},
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
	client, err := flow.Register(ctx, authority, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	grant, err := flow.Obtain(ctx, authority, client, []string{"files:read"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(grant.Token.Type, grant.Scopes)
	fmt.Println(grant.Token.Access)
	// Output:
	// Bearer [files:read]
	// [redacted]
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
