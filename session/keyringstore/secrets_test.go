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
	assert.OK(t, keyring.Set(DefaultService, "github", "from another program"))
	if got, ok, err := s.Secret(t.Context(), "github"); got != "from another program" || !ok || err != nil {
		t.Errorf("%v %v %v", got.Reveal(), ok, err)
	}
	if got, ok, err := s.Secret(t.Context(), "gitlab"); got != "" || ok || err != nil {
		t.Errorf("%v %v %v", got.Reveal(), ok, err)
	}
	for _, value := range []config.Secret{"one", "two", ""} {
		assert.OK(t, s.SetSecret(t.Context(), "a/b c", value))
		if got, ok, err := s.Secret(t.Context(), "a/b c"); got != value || ok != (value != "") || err != nil {
			t.Errorf("%v %v %v", got.Reveal(), ok, err)
		}
	}
	if err := s.SetSecret(t.Context(), "a/b c", ""); err != nil {
		t.Errorf("a second removal: %v", err)
	}
	if _, ok, err := Secrets("other").Secret(t.Context(), "github"); ok || err != nil {
		t.Errorf("another service: %v %v", ok, err)
	}
}

// What sessions are sealed with is not to be had through a config file.
func TestSecretsAreNotKeys(t *testing.T) {
	home(t)
	keyring.MockInit()
	assert.OK(t, NewKey(t.Context(), DefaultService))
	s := Secrets(DefaultService)
	for _, name := range []string{account, "Session Keys", " session keys ", "", "a\nb", "a\x00", "\xff", strings.Repeat("a", 257)} {
		got, ok, err := s.Secret(t.Context(), name)
		var wrong *SecretError
		if got != "" || ok || !errors.As(err, &wrong) || !errors.As(s.SetSecret(t.Context(), name, "x"), &wrong) {
			t.Errorf("%q: %v, %v", name, ok, err)
		}
	}
}

func TestSecretsWithoutKeyring(t *testing.T) {
	keyring.MockInitWithError(errors.New("no such service"))
	s := Secrets("")
	var wrong *SecretError
	if _, ok, err := s.Secret(t.Context(), "a"); ok || !errors.As(err, &wrong) || wrong.Name != "a" {
		t.Errorf("%v, %v", ok, err)
	}
	if err := s.SetSecret(t.Context(), "a", "canary"); !errors.As(err, &wrong) || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

// A mute ring answers when it is let go.
type mute struct {
	letGo chan struct{}
	asked chan struct{}
}

func (m mute) Get(string, string) (string, error) {
	m.asked <- struct{}{}
	<-m.letGo
	return "secret", nil
}
func (m mute) Set(string, string, string) error { <-m.letGo; return nil }
func (m mute) Delete(string, string) error      { <-m.letGo; return nil }

func TestSecretsOfAMuteKeyring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mute{make(chan struct{}), make(chan struct{}, 100)}
		s := Secrets("")
		s.ring = m
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, _, err := s.Secret(ctx, "a"); !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if err := s.SetSecret(t.Context(), "a", "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		assert.Equal(t, len(m.asked), 1, "the keyring was asked times while it did not answer")
		close(m.letGo)
		time.Sleep(time.Second)
		if got, ok, err := s.Secret(t.Context(), "a"); got != "secret" || !ok || err != nil {
			t.Errorf("after it was unlocked: %v, %v", ok, err)
		}
	})
}

func TestSecretsAnswerReferences(t *testing.T) {
	keyring.MockInit()
	assert.OK(t, keyring.Set(DefaultService, "github", "s3cret"))
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"a": {"command": "x", "env": {"T": "${keyring:github}", "K": "${keyring:session keys}"}}}}`),
		&config.Options{Secrets: Secrets("")}))(t)
	if a := c.Servers[0]; a.Env["T"] != "s3cret" || a.Err == nil || !strings.Contains(a.Err.Error(), "session keys") {
		t.Errorf("%v", a.Err)
	}
}
