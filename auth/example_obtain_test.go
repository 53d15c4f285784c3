package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
)

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
