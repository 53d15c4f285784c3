package keyringstore

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

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

// NewKey puts a new key into the keyring, before those that are there. Sessions
// are sealed with it when they are next saved, or by seal.Store.Rotate.
func NewKey(ctx context.Context, service string) error {
	return changeKeys(ctx, service, func(keys *seal.Keys) *seal.Keys {
		made := newKeys()
		if keys != nil {
			made.Old = append([]auth.Secret{keys.Current}, keys.Old...)
		}
		return made
	})
}

// DropOldKeys removes all keys but the current one from the keyring. Records that are
// still sealed with them are lost: call seal.Store.Rotate before.
func DropOldKeys(ctx context.Context, service string) error {
	return changeKeys(ctx, service, func(keys *seal.Keys) *seal.Keys {
		if keys == nil {
			return nil
		}
		return &seal.Keys{Current: keys.Current}
	})
}

func changeKeys(ctx context.Context, service string, do func(*seal.Keys) *seal.Keys) error {
	a := newAsker(service)
	_, err := ask(ctx, a, a.fail, func() (*seal.Keys, error) { return a.change(do) })
	return err
}

func newKeys() *seal.Keys {
	key := make([]byte, seal.KeySize)
	_, _ = rand.Read(key) // never fails
	return &seal.Keys{Current: auth.Secret(key)}
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

func (a *asker) getOrMake() (*seal.Keys, error) {
	keys, err := a.get()
	if keys != nil || err != nil {
		return keys, err
	}
	return a.change(func(keys *seal.Keys) *seal.Keys {
		if keys != nil {
			return keys // another process was faster
		}
		return newKeys()
	})
}

// change replaces the keys in the keyring, under a lock that all programs of the
// user ask for: keyrings have no compare-and-swap, and a key that is overwritten
// takes all that is sealed with it along.
func (a *asker) change(do func(*seal.Keys) *seal.Keys) (*seal.Keys, error) {
	unlock, err := a.lock()
	if err != nil {
		return nil, a.fail("the lock for changing it cannot be had", err)
	}
	defer unlock()
	keys, err := a.get()
	if err != nil {
		return nil, err
	}
	keys = do(keys)
	if keys == nil {
		return nil, nil
	}
	texts := []string{encode(keys.Current)}
	for _, old := range keys.Old {
		texts = append(texts, encode(old))
	}
	return keys, a.ring.Set(a.service, account, strings.Join(texts, ","))
}

func encode(key auth.Secret) string { return base64.StdEncoding.EncodeToString([]byte(key.Reveal())) }

func (a *asker) source() string { return fmt.Sprintf("keyring entry %q", a.service) }

func (a *asker) fail(problem string, err error) error {
	return &seal.KeyError{Source: a.source(), Problem: problem, Err: err}
}
