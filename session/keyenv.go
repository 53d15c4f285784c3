package session

import (
	"context"
	"fmt"
	"os"
)

// KeyEnv returns the keys of an environment variable: KeySize random bytes in
// base64 or hex, as
//
//	openssl rand -base64 32
//
// prints them. To replace the key, put the new one in front of the old one, with a
// comma between, start all programs anew, call [Store.Rotate] in one of them, and
// take the old one away.
func KeyEnv(name string) KeySource {
	return func(context.Context, []byte) (*SealingKeys, error) {
		source := fmt.Sprintf("environment variable %q", name)
		text, ok := os.LookupEnv(name)
		if !ok {
			return nil, &KeyError{Source: source, Problem: "it is not set"}
		}
		return parseFrom(source, text)
	}
}
