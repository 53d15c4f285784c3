package seal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

func ExampleNewStore() {
	// The driver may be one of your own, over a database for example.
	store, err := seal.NewStore(context.Background(), storage.NewMemory(), seal.KeyEnv("MY_AGENT_KEY"))
	var key *seal.KeyError
	if errors.As(err, &key) {
		fmt.Println("no key from", key.Source)
		return
	}
	defer store.Close()
	// Output: no key from environment variable "MY_AGENT_KEY"
}

func ExampleKeyEnv() {
	// As `openssl rand -base64 32` prints it. The second key is the one before.
	os.Setenv("MY_AGENT_KEYS", "eHpDtjZP8yYpHs2RrE0Cz1gVEZ/NYaOzlkNCYFsdZ0A=,tFZp6pBzXSbPjUbxA8oJ9jHm+eDNJoyFnQtPXm8Q7YE=")
	defer os.Unsetenv("MY_AGENT_KEYS")
	store, err := seal.NewStore(context.Background(), storage.NewMemory(), seal.KeyEnv("MY_AGENT_KEYS"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}

func ExampleKeyFile() {
	store, err := seal.NewStore(context.Background(), storage.NewMemory(), seal.KeyFile("/run/secrets/my-agent/key"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}

func ExampleParseKeys() {
	// A source that asks a key management service.
	fetch := func(context.Context) (string, error) {
		return "c0ffee" + strings.Repeat("0", 58), nil
	}
	source := func(ctx context.Context) (*seal.Keys, error) {
		text, err := fetch(ctx)
		if err != nil {
			return nil, &seal.KeyError{Source: "the key service", Problem: "it does not answer", Err: err}
		}
		return seal.ParseKeys(auth.Secret(text))
	}
	store, err := seal.NewStore(context.Background(), storage.NewMemory(), source)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}

func ExampleStore_Rotate() {
	ctx, place := context.Background(), storage.NewMemory()
	older, newer := auth.Secret(strings.Repeat("o", seal.KeySize)), auth.Secret(strings.Repeat("n", seal.KeySize))
	store, err := seal.NewStore(ctx, place, seal.StaticKey(older))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	// The new key first, the old one for what is sealed with it still.
	store, err = seal.NewStore(ctx, place, seal.StaticKey(newer, older))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if _, err := store.Rotate(ctx); err != nil {
		fmt.Println(err)
		return
	}

	// Now the old key can go.
	store, err = seal.NewStore(ctx, place, seal.StaticKey(newer))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}
