// Oidc lets a caller in by a token of an authorization server.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/host/access/oidc"
)

func main() {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	var issuer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, encode(public))
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer, issuer+"/keys")
	}))
	defer server.Close()
	issuer = server.URL
	tokens, err := oidc.New(context.Background(), &oidc.Options{Issuers: []string{issuer}, Resource: "https://belt.example"})
	if err != nil {
		log.Fatal(err)
	}
	signed := encode([]byte(`{"alg":"EdDSA","typ":"at+jwt"}`)) + "." +
		encode([]byte(`{"iss":"`+issuer+`","sub":"ada","aud":"https://belt.example/mcp","exp":4102444800}`))
	r := httptest.NewRequest("POST", "https://belt.example/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+signed+"."+encode(ed25519.Sign(private, []byte(signed))))
	caller, err := tokens(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", caller.User)
}

// Output: ok ada
