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

// Key returns the keys that the keyring holds under a service name. If it holds
// none, a new key is put there; programs that do so at once get the same one.
func Key(service string) seal.KeySource {
	e := newEntry(service)
	return func(ctx context.Context) (*seal.Keys, error) {
		return e.ask(ctx, e.getOrMake)
	}
}

// NewKey puts a new key into the keyring, before those that are there. Sessions
// are sealed with it when they are next saved, or by seal.Store.Rotate.
func NewKey(ctx context.Context, service string) error {
	e := newEntry(service)
	_, err := e.ask(ctx, func() (*seal.Keys, error) {
		return e.change(func(keys *seal.Keys) *seal.Keys {
			made := newKeys()
			if keys != nil {
				made.Old = append([]auth.Secret{keys.Current}, keys.Old...)
			}
			return made
		})
	})
	return err
}

// DropOldKeys removes all keys but the current one from the keyring. Records that are
// still sealed with them are lost: call seal.Store.Rotate before.
func DropOldKeys(ctx context.Context, service string) error {
	e := newEntry(service)
	_, err := e.ask(ctx, func() (*seal.Keys, error) {
		return e.change(func(keys *seal.Keys) *seal.Keys {
			if keys == nil {
				return nil
			}
			return &seal.Keys{Current: keys.Current}
		})
	})
	return err
}

func newKeys() *seal.Keys {
	key := make([]byte, seal.KeySize)
	_, _ = rand.Read(key) // never fails
	return &seal.Keys{Current: auth.Secret(key)}
}

// get returns the keys in the keyring, nil if there are none.
func (e *entry) get() (*seal.Keys, error) {
	text, err := e.ring.Get(e.service, account)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, e.fail(err)
	}
	keys, err := seal.ParseKeys(auth.Secret(text))
	var key *seal.KeyError
	if errors.As(err, &key) {
		key.Source = e.source()
	}
	return keys, err
}

func (e *entry) getOrMake() (*seal.Keys, error) {
	keys, err := e.get()
	if keys != nil || err != nil {
		return keys, err
	}
	return e.change(func(keys *seal.Keys) *seal.Keys {
		if keys != nil {
			return keys // another process was faster
		}
		return newKeys()
	})
}

// change replaces the keys in the keyring, under a lock that all programs of the
// user ask for: keyrings have no compare-and-swap, and a key that is overwritten
// takes all that is sealed with it along.
func (e *entry) change(do func(*seal.Keys) *seal.Keys) (*seal.Keys, error) {
	unlock, err := e.lock()
	if err != nil {
		return nil, &seal.KeyError{Source: e.source(), Problem: "the lock for changing it cannot be had", Err: err}
	}
	defer unlock()
	keys, err := e.get()
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
	if err := e.ring.Set(e.service, account, strings.Join(texts, ",")); err != nil {
		return nil, e.fail(err)
	}
	return keys, nil
}

func encode(key auth.Secret) string { return base64.StdEncoding.EncodeToString([]byte(key.Reveal())) }

func (e *entry) source() string { return fmt.Sprintf("keyring entry %q", e.service) }

func (e *entry) fail(err error) error {
	problem := "the keyring of the operating system cannot be used; is it there, and unlocked? Where there is none, take keys from a file or the environment"
	if errors.Is(err, keyring.ErrSetDataTooBig) {
		problem = "there are too many old keys; drop them"
	}
	return &seal.KeyError{Source: e.source(), Problem: problem, Err: err}
}
