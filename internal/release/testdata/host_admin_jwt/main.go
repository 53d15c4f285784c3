// Jwt lets a caller in by a token that the program has signed itself.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/host/admin/jwt"
)

func main() {
	key := []byte("0123456789abcdef0123456789abcdef")
	tokens, err := jwt.New(&jwt.Options{Key: key, Audience: "belt"})
	if err != nil {
		log.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(`{"sub":"ada","aud":"belt","exp":4102444800}`))
	signature := hmac.New(sha256.New, key)
	signature.Write([]byte(signed))
	r := httptest.NewRequest("GET", "https://belt.example/api/v1/mcp/servers", nil)
	r.Header.Set("Authorization", "Bearer "+signed+"."+encode(signature.Sum(nil)))
	caller, err := tokens(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", caller.User)
}

// Output: ok ada
