package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/auth"
)

// KeySize is the length of a sealing key, in bytes.
const KeySize = 32

// SealingKeys are the keys that a [Store] seals with: KeySize random bytes each,
// not in hex or base64.
type SealingKeys struct {
	// Current is what records are sealed with.
	Current auth.Secret
	// Old are the keys that were current before. Records that are sealed with
	// one of them can be read, and are sealed with Current when they are next
	// saved.
	Old []auth.Secret
}

// A KeySource returns the keys of a store. The salt has 32 random bytes, is not
// secret, and is always the same for one store; sources that make keys of
// passphrases need it. Its errors should be *KeyError.
//
// A Store asks when it is opened, in [Store.Rotate], and when it meets a record
// with a key that it does not know. The source must be safe for concurrent use and
// return soon after ctx ends.
type KeySource func(ctx context.Context, salt []byte) (*SealingKeys, error)

// A KeyError reports that the sealing keys could not be had, or are not those of
// the store. It shows nothing of them.
type KeyError struct {
	// Source is where the keys come from, such as `file "/x/key"`; it may be
	// empty.
	Source string
	// Record is the name of the record that cannot be opened; empty if it is
	// about the whole store.
	Record string
	// Problem says what is wrong, and the cure.
	Problem string
	// Err is the cause, if there is one.
	Err error
}

func (e *KeyError) Error() string {
	text := "session: sealing key"
	if e.Source != "" {
		text += " from " + e.Source
	}
	if e.Record != "" {
		text += fmt.Sprintf(" of record %q", e.Record)
	}
	text += ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }

func (k *SealingKeys) clone() *SealingKeys {
	return &SealingKeys{Current: k.Current, Old: slices.Clone(k.Old)}
}

// check returns a *KeyError unless all keys have the right length.
func (k *SealingKeys) check() error {
	if k == nil {
		return &KeyError{Problem: "the key source returned none"}
	}
	if n := len(k.Current); n != KeySize {
		return &KeyError{Problem: fmt.Sprintf("the current key has %d bytes, not %d", n, KeySize)}
	}
	for i, old := range k.Old {
		if n := len(old); n != KeySize {
			return &KeyError{Problem: fmt.Sprintf("old key %d has %d bytes, not %d", i+1, n, KeySize)}
		}
	}
	return nil
}

// StaticKey returns keys that the program has from elsewhere, such as a key
// management service, or that a test made up. Each is KeySize random bytes. To
// replace a key, give it as an old one until [Store.Rotate] has run.
func StaticKey(current auth.Secret, old ...auth.Secret) KeySource {
	keys := (&SealingKeys{Current: current, Old: old}).clone()
	return func(context.Context, []byte) (*SealingKeys, error) { return keys.clone(), nil }
}
