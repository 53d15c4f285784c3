package session

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/auth"
)

// ParseKeys reads keys that somebody has written down: KeySize random bytes in
// base64 or hex, with blanks, commas or line ends between them. The first is the
// current one. Lines that begin with # are comments. The error is a *KeyError
// without a source.
func ParseKeys(text auth.Secret) (*SealingKeys, error) {
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
	return &SealingKeys{Current: all[0], Old: all[1:]}, nil
}

// parseFrom is ParseKeys with a source for the error.
func parseFrom(source, text string) (*SealingKeys, error) {
	keys, err := ParseKeys(auth.Secret(text))
	var key *KeyError
	if errors.As(err, &key) {
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
