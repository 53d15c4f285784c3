package seal

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/auth"
)

// KeySize is the length of a sealing key, in bytes.
const KeySize = 32

// Keys are the keys that a [Store] seals with: KeySize random bytes each,
// not in hex or base64.
type Keys struct {
	// Current is what records are sealed with.
	Current auth.Secret
	// Old are the keys that were current before. Records that are sealed with
	// one of them can be read, and are sealed with Current when they are next
	// saved.
	Old []auth.Secret
}

// A KeySource returns the keys of a store. Its errors should be *KeyError.
//
// A Store asks when it is opened, in [Store.Rotate], and when it meets a record
// with a key that it does not know. The source must be safe for concurrent use and
// return soon after ctx ends.
type KeySource func(ctx context.Context) (*Keys, error)

// A KeyError reports that the sealing keys could not be had, or are not those of
// the store. It shows nothing of them.
//
//cure:give the key that sealed the store; without it the users log in again
type KeyError struct {
	// Source is where the keys come from, such as `file "/x/key"`; it may be
	// empty.
	Source string
	// Problem says what is wrong, and the cure.
	Problem string
	// Err is the cause, if there is one.
	Err error

	record string // that cannot be opened; empty: it is about the whole store
}

func (e *KeyError) Error() string {
	text := "seal: key"
	if e.Source != "" {
		text += " from " + e.Source
	}
	if e.record != "" {
		text += fmt.Sprintf(" of record %q", e.record)
	}
	text += ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }

// check returns a *KeyError unless all keys have the right length.
func (k *Keys) check() error {
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
	old = slices.Clone(old)
	return func(context.Context) (*Keys, error) { return &Keys{Current: current, Old: slices.Clone(old)}, nil }
}

// ParseKeys reads keys from text: KeySize random bytes in
// base64 or hex, with blanks, commas or line ends between them. The first is the
// current one. Lines that begin with # are comments. The error is a *KeyError
// without a source.
func ParseKeys(text auth.Secret) (*Keys, error) {
	var all []auth.Secret
	for line := range strings.Lines(text.Reveal()) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) }) {
			key, ok := parseKey(word)
			if !ok {
				return nil, &KeyError{Problem: fmt.Sprintf(
					"key %d is not %d bytes in base64 or hex; openssl rand -base64 %d makes one", len(all)+1, KeySize, KeySize)}
			}
			all = append(all, key)
		}
	}
	if len(all) == 0 {
		return nil, &KeyError{Problem: fmt.Sprintf("there is no key; openssl rand -base64 %d makes one", KeySize)}
	}
	return &Keys{Current: all[0], Old: all[1:]}, nil
}

// parseFrom is ParseKeys with a source for the error.
func parseFrom(source, text string) (*Keys, error) {
	keys, err := ParseKeys(auth.Secret(text))
	if key, ok := errors.AsType[*KeyError](err); ok {
		key.Source = source
	}
	return keys, err
}

func parseKey(word string) (key auth.Secret, ok bool) {
	var raw []byte
	var err error
	if len(word) == hex.EncodedLen(KeySize) {
		raw, err = hex.DecodeString(word)
	} else {
		word = strings.TrimRight(word, "=")
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(word, "-_") {
			encoding = base64.RawURLEncoding
		}
		raw, err = encoding.DecodeString(word)
	}
	return auth.Secret(raw), err == nil && len(raw) == KeySize
}

// KeyEnv returns the keys of an environment variable: KeySize random bytes in
// base64 or hex, as
//
//	openssl rand -base64 32
//
// prints them. To replace the key, put the new one in front of the old one, with a
// comma between, restart all programs, call [Store.Rotate] in one of them, and
// take the old one away.
func KeyEnv(name string) KeySource {
	return func(context.Context) (*Keys, error) {
		source := fmt.Sprintf("environment variable %q", name)
		text, ok := os.LookupEnv(name)
		if !ok {
			return nil, &KeyError{Source: source, Problem: "it is not set"}
		}
		return parseFrom(source, text)
	}
}
