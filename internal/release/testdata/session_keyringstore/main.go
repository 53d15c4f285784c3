// Keyringstore keeps a secret in a stand-in of a keyring.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/zalando/go-keyring"

	"github.com/mcpbelt/mcpbelt/session/keyringstore"
)

func main() {
	ctx := context.Background()
	keyring.MockInit()
	secrets := keyringstore.Secrets("")
	if err := secrets.SetSecret(ctx, "github", "s3cret"); err != nil {
		log.Fatal(err)
	}
	value, found, err := secrets.Secret(ctx, "github")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", value, len(value.Reveal()), found)
}

// Output: ok [redacted] 6 true
