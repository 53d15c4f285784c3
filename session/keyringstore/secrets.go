package keyringstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zalando/go-keyring"

	"github.com/mcpbelt/mcpbelt/auth"
)

// maxName bounds the name of a secret, in bytes.
const maxName = 256

// A SecretStore keeps secrets by name in the keyring, one entry for each, so that what
// other programs put there can be read. It is a config.SecretStore of package
// host/config: ${keyring:name} reads it, and answers to inputs are remembered in it. It
// is safe for concurrent use, and owns at most one goroutine, which ends when the keyring
// answers. Its errors have the name of a secret, and not its value.
type SecretStore struct{ *asker }

// Secrets returns the secrets that the keyring holds under a service name; empty means
// "mcpbelt". The name of a secret is the account, or user name, of its entry. At
// a terminal of Linux, for example, this puts one there:
//
//	secret-tool store --label="GitHub" service mcpbelt username github
func Secrets(service string) *SecretStore { return &SecretStore{newAsker(service)} }

// Secret returns the secret of a name and whether there is one.
func (s *SecretStore) Secret(ctx context.Context, name string) (auth.Secret, bool, error) {
	if err := s.check(name); err != nil {
		return "", false, err
	}
	text, err := ask(ctx, s.asker, s.failing(name), func() (*auth.Secret, error) {
		text, err := s.ring.Get(s.service, name)
		if errors.Is(err, keyring.ErrNotFound) {
			return nil, nil
		}
		return (*auth.Secret)(&text), err
	})
	if text == nil || err != nil {
		return "", false, err
	}
	return *text, true, nil
}

// SetSecret puts a secret into the keyring, in place of another one of that name. The
// empty one removes it. Some keyrings take no more than 2,500 bytes.
func (s *SecretStore) SetSecret(ctx context.Context, name string, value auth.Secret) error {
	if err := s.check(name); err != nil {
		return err
	}
	_, err := ask(ctx, s.asker, s.failing(name), func() (struct{}, error) {
		if value != "" {
			return struct{}{}, s.ring.Set(s.service, name, value.Reveal())
		}
		err := s.ring.Delete(s.service, name)
		if errors.Is(err, keyring.ErrNotFound) {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

// check refuses what is no name, and the name of the keys that sessions are sealed with.
func (s *SecretStore) check(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
	if name == "" || len(name) > maxName || bad || !utf8.ValidString(name) {
		return s.failing(name[:min(len(name), maxName)])("a name has 1 to 256 bytes of UTF-8 without control characters", nil)
	}
	if strings.EqualFold(strings.TrimSpace(name), account) { // Windows does not tell cases apart
		return s.failing(name)("this entry holds the keys of sessions, and is no secret for servers: choose another name", nil)
	}
	return nil
}

// failing returns what makes the errors about a secret.
func (s *SecretStore) failing(name string) func(problem string, err error) error {
	return func(problem string, err error) error {
		text := fmt.Sprintf("keyring entry %q, secret %q: %s", s.service, name, problem)
		if err == nil {
			return errors.New(text)
		}
		return fmt.Errorf("%s: %w", text, err)
	}
}
