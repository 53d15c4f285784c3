package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// maxSecretName bounds the name of a secret, in bytes.
	maxSecretName = 256
	// maxSecret bounds a secret, in bytes.
	maxSecret = 64 << 10
)

// A SecretStore keeps secrets by name: ${keyring:name} reads it, and the answers to
// inputs are remembered in it. It is safe for concurrent use and returns soon after
// ctx ends. Its errors hold no secret. There are [NewSecrets] in memory and the
// Secrets of session/keyringstore in the keyring of the operating system.
type SecretStore interface {
	// Secret returns the secret of a name and whether there is one. A name is 1 to 256 bytes
	// of UTF-8 without control characters and braces, and no blank at its ends.
	Secret(ctx context.Context, name string) (Secret, bool, error)
	// SetSecret keeps a secret of at most 64 KiB under a name, in place of
	// another one. The empty one removes it.
	SetSecret(ctx context.Context, name string, value Secret) error
}

// checkSecretName returns an error unless name may be that of a secret.
func checkSecretName(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '{' || r == '}' })
	if name == "" || len(name) > maxSecretName || bad || !utf8.ValidString(name) || strings.TrimSpace(name) != name {
		return fmt.Errorf("invalid name of a secret: use 1 to %d bytes without control characters and braces", maxSecretName)
	}
	return nil
}

// A secretMemory is a [SecretStore] in memory.
type secretMemory struct {
	mu     sync.Mutex
	byName map[string]Secret
}

// NewSecrets returns a store in memory, without secrets.
func NewSecrets() SecretStore { return &secretMemory{byName: map[string]Secret{}} }

// Secret implements [SecretStore].
func (s *secretMemory) Secret(ctx context.Context, name string) (Secret, bool, error) {
	if err := errors.Join(ctx.Err(), checkSecretName(name)); err != nil {
		return "", false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.byName[name]
	return value, ok, nil
}

// SetSecret implements [SecretStore].
func (s *secretMemory) SetSecret(ctx context.Context, name string, value Secret) error {
	if err := errors.Join(ctx.Err(), checkSecretName(name)); err != nil {
		return err
	}
	if len(value) > maxSecret {
		return fmt.Errorf("the secret has more than %d bytes", maxSecret)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == "" {
		delete(s.byName, name)
		return nil
	}
	s.byName[name] = value
	return nil
}
