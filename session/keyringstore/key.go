package keyringstore

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// account is the second half of the name of the entry.
const account = "session keys"

// Key returns the keys that the keyring holds under a service name, which is usually that of the program;
// empty means "mcpbelt". If it holds none, a new key is put there; programs that do so at once get the
// same one. Any store can have its key there:
//
//	filestore.Open(ctx, dir, &filestore.Options{Keys: keyringstore.Key("my agent")})
func Key(service string) seal.KeySource {
	a := newAsker(service)
	return func(ctx context.Context) (*seal.Keys, error) { return ask(ctx, a, a.fail, a.getOrMake) }
}

// get returns the keys in the keyring, nil if there are none.
func (a *asker) get() (*seal.Keys, error) {
	text, err := a.ring.Get(a.service, account)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := seal.ParseKeys(auth.Secret(text))
	if key, ok := errors.AsType[*seal.KeyError](err); ok {
		key.Source = a.source()
	}
	return keys, err
}

// getOrMake returns the keys in the keyring, which it makes under a lock that all programs of the
// user ask for: keyrings have no compare-and-swap, and a key that is overwritten
// takes all that is sealed with it along.
func (a *asker) getOrMake() (*seal.Keys, error) {
	keys, err := a.get()
	if keys != nil || err != nil {
		return keys, err
	}
	unlock, err := a.lock()
	if err != nil {
		return nil, a.fail("the lock for changing it cannot be had", err)
	}
	defer unlock()
	if keys, err := a.get(); keys != nil || err != nil { // another process was faster
		return keys, err
	}
	key := make([]byte, seal.KeySize)
	_, _ = rand.Read(key) // never fails
	return &seal.Keys{Current: auth.Secret(key)}, a.ring.Set(a.service, account, base64.StdEncoding.EncodeToString(key))
}

func (a *asker) source() string { return fmt.Sprintf("keyring entry %q", a.service) }

func (a *asker) fail(problem string, err error) error {
	return &seal.KeyError{Source: a.source(), Problem: problem, Err: err}
}
