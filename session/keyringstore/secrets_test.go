package keyringstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var _ config.SecretStore = (*SecretStore)(nil)

func TestSecrets(t *testing.T) {
	keyring.MockInit()
	s := Secrets("")
	wantSecret := func(s *SecretStore, name string, want config.Secret) {
		t.Helper()
		got, ok, err := s.Secret(t.Context(), name)
		assert.OK(t, err)
		assert.Equal(t, got.Reveal(), want.Reveal(), "%s", name)
		assert.Equal(t, ok, want != "", "%s: there is one", name)
	}
	assert.OK(t, keyring.Set(defaultService, "github", "from another program"))
	wantSecret(s, "github", "from another program")
	wantSecret(s, "gitlab", "")
	wantSecret(Secrets("other"), "github", "")
	for _, value := range []config.Secret{"one", "two", ""} {
		assert.OK(t, s.SetSecret(t.Context(), "a/b c", value))
		wantSecret(s, "a/b c", value)
	}
	assert.OK(t, s.SetSecret(t.Context(), "a/b c", ""), "a second removal")
}

// What sessions are sealed with is not to be had through a config file.
func TestSecretsAreNotKeys(t *testing.T) {
	home(t)
	keyring.MockInit()
	assert.Value(Key("")(t.Context()))(t)
	s := Secrets(defaultService)
	for _, name := range []string{account, "Session Keys", " session keys ", "", "a\nb", "a\x00", "\xff", strings.Repeat("a", 257)} {
		_, _, err := s.Secret(t.Context(), name)
		assert.Fails(t, err, "%q", name)
		assert.Fails(t, s.SetSecret(t.Context(), name, "x"), "%q", name)
	}
}

func TestSecretsWithoutKeyring(t *testing.T) {
	keyring.MockInitWithError(errors.New("no such service"))
	s := Secrets("")
	_, _, err := s.Secret(t.Context(), "a")
	assert.Contains(t, err.Error(), `secret "a"`)
	err = s.SetSecret(t.Context(), "a", "canary")
	assert.Contains(t, err.Error(), `secret "a"`)
	assert.Lacks(t, err.Error(), "canary")
}

// A silentRing answers when it is let go.
type silentRing struct{ letGo, asked chan struct{} }

func (m silentRing) Get(string, string) (string, error) {
	m.asked <- struct{}{}
	<-m.letGo
	return "secret", nil
}
func (m silentRing) Set(string, string, string) error { <-m.letGo; return nil }
func (m silentRing) Delete(string, string) error      { <-m.letGo; return nil }

func TestSecretsOfASilentKeyring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := silentRing{make(chan struct{}), make(chan struct{}, 100)}
		s := Secrets("")
		s.ring = m
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, _, err := s.Secret(ctx, "a")
				assert.Is(t, err, context.Canceled)
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		assert.Is(t, s.SetSecret(t.Context(), "a", "b"), context.DeadlineExceeded)
		assert.Equal(t, len(m.asked), 1, "requests while it did not answer")
		close(m.letGo)
		time.Sleep(time.Second)
		got, _, err := s.Secret(t.Context(), "a")
		assert.OK(t, err, "after it was unlocked")
		assert.Equal(t, got.Reveal(), "secret", "after it was unlocked")
	})
}

func TestSecretsAnswerReferences(t *testing.T) {
	keyring.MockInit()
	assert.OK(t, keyring.Set(defaultService, "github", "s3cret"))
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"a": {"command": "x", "env": {"T": "${keyring:github}", "K": "${keyring:session keys}"}}}}`),
		&config.Options{Secrets: Secrets("")}))(t)
	assert.Equal(t, c.Servers[0].Env["T"], "s3cret", "T")
	assert.Contains(t, c.Servers[0].Err.Error(), "session keys")
}
