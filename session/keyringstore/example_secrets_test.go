package keyringstore_test

import (
	"context"
	"fmt"

	"github.com/zalando/go-keyring"

	"github.com/mcpbelt/mcpbelt/session/keyringstore"
)

func ExampleSecrets() {
	keyring.MockInit() // for this example, no real keyring
	secrets := keyringstore.Secrets("")
	if err := secrets.SetSecret(context.Background(), "github", "s3cret"); err != nil {
		fmt.Println(err)
		return
	}
	value, ok, err := secrets.Secret(context.Background(), "github")
	fmt.Println(value, len(value.Reveal()), ok, err)
	// Output: [redacted] 6 true <nil>
}
