package keyringstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
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
// answers.
type SecretStore struct {
	service string
	ring    secretRing
	wait    time.Duration
	busy    chan struct{} // holds a token while the keyring is asked
}

// A secretRing is a keyring from which entries can be removed too.
type secretRing interface {
	ring
	Delete(service, account string) error
}

func (system) Delete(service, account string) error { return keyring.Delete(service, account) }

// Secrets returns the secrets that the keyring holds under a service name; empty means
// [DefaultService]. The name of a secret is the account, or user name, of its entry. At
// a terminal of Linux, for example, this puts one there:
//
//	secret-tool store --label="GitHub" service mcpbelt username github
func Secrets(service string) *SecretStore {
	if service == "" {
		service = DefaultService
	}
	return &SecretStore{service: service, ring: system{}, wait: patience, busy: make(chan struct{}, 1)}
}

// A SecretError says why the keyring did not give or take a secret.
type SecretError struct {
	Service string // of the entry
	Name    string // of the secret
	Problem string // what is wrong and how to cure it
	Err     error  // of the keyring or the context; may be nil
}

func (e *SecretError) Error() string {
	text := fmt.Sprintf("keyring entry %q, secret %q: %s", e.Service, e.Name, e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns e.Err.
func (e *SecretError) Unwrap() error { return e.Err }

// Secret returns the secret of a name and whether there is one. Errors are
// [*SecretError]s.
func (s *SecretStore) Secret(ctx context.Context, name string) (auth.Secret, bool, error) {
	if err := s.check(name); err != nil {
		return "", false, err
	}
	type found struct {
		text string
		ok   bool
	}
	got, err := askRing(ctx, s, name, func() (found, error) {
		text, err := s.ring.Get(s.service, name)
		if errors.Is(err, keyring.ErrNotFound) {
			return found{}, nil
		}
		return found{text, true}, err
	})
	return auth.Secret(got.text), got.ok && err == nil, err
}

// SetSecret puts a secret into the keyring, in place of another one of that name. The
// empty one removes it. Some keyrings take no more than 2,500 bytes. Errors are
// [*SecretError]s.
func (s *SecretStore) SetSecret(ctx context.Context, name string, value auth.Secret) error {
	if err := s.check(name); err != nil {
		return err
	}
	_, err := askRing(ctx, s, name, func() (struct{}, error) {
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
		return s.fail(name[:min(len(name), maxName)], "a name has 1 to 256 bytes of UTF-8 without control characters", nil)
	}
	if strings.EqualFold(strings.TrimSpace(name), account) { // Windows does not tell cases apart
		return s.fail(name, "this entry holds the keys of sessions, and is no secret for servers: choose another name", nil)
	}
	return nil
}

func (s *SecretStore) fail(name, problem string, err error) error {
	return &SecretError{s.service, name, problem, err}
}

// askRing calls do in a goroutine, when no other call is under way, and waits for it.
func askRing[T any](ctx context.Context, s *SecretStore, name string, do func() (T, error)) (T, error) {
	var none T
	limit := time.NewTimer(s.wait)
	defer limit.Stop()
	const silent = "the keyring did not answer; it may wait for you to unlock it"
	late := func() error {
		if err := ctx.Err(); err != nil {
			return s.fail(name, silent, err)
		}
		return s.fail(name, silent, context.DeadlineExceeded)
	}
	if ctx.Err() != nil {
		return none, late()
	}
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return none, late()
	case <-limit.C:
		return none, late()
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := do()
		<-s.busy
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		if errors.Is(a.err, keyring.ErrSetDataTooBig) {
			return none, s.fail(name, "the secret is too long for this keyring", a.err)
		}
		if a.err != nil {
			return none, s.fail(name, "the keyring of the operating system cannot be used; is it there, and unlocked?", a.err)
		}
		return a.value, nil
	case <-ctx.Done():
		return none, late()
	case <-limit.C:
		return none, late()
	}
}
