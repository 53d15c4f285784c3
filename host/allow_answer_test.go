//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Of a project's server the person who approves sees which of his secrets leave for
// where, and nobody is asked for one before.
func TestApprovalBeforeAnswers(t *testing.T) {
	p := newProject(t)
	file := filepath.Join(p.dir, "mcp.json")
	text := `{"inputs":[{"id":"word","type":"promptString","description":"Word"}],
		"servers":{"notes":{"command":"./bin/notes","cwd":".","args":["${input:word}"],"env":{"K":"${keyring:k}","A":"${env:HOME}"}}}}`
	assert.OK(t, os.WriteFile(file, []byte(text), 0o600))
	var asked, looked atomic.Int32
	c := assert.Value(config.Load(t.Context(), file, &config.Options{
		Scope:   config.ScopeProject,
		Secrets: &countedSecrets{SecretStore: config.NewSecrets(), looked: &looked},
		Input: func(context.Context, config.Input) (config.Secret, error) {
			asked.Add(1)
			return "said", nil
		},
	}))(t)
	h := newApprovalHost(t, consent.New())
	assert.Value(h.Apply(t.Context(), c))(t)
	wantStage(t, h, host.StageNotAllowed)
	pending := h.PendingLaunches()
	if len(pending) != 1 || asked.Load() != 0 || looked.Load() != 0 {
		t.Fatalf("%d wait, %d asked, %d looked up", len(pending), asked.Load(), looked.Load())
	}
	shown := pending[0].String()
	for _, want := range []string{"args[0]: ${input:word}", "env.K: ${keyring:k}", "env.A: ${env:HOME}"} {
		if !strings.Contains(shown, want) {
			t.Errorf("not shown: %s in %s", want, shown)
		}
	}
	assert.OK(t, h.AllowLaunch(t.Context(), "ann", pending[0].Fingerprint()))
	wantStage(t, h, host.StageReady)
	if got := p.starts(); len(got) != 1 || !strings.HasSuffix(got[0], "/bin/notes said") {
		t.Errorf("started %q", got)
	}
	assert.OK(t, h.Restart(t.Context(), "notes"))
	if got := p.starts(); len(got) != 2 || asked.Load() != 1 {
		t.Errorf("started %q, asked %d times", got, asked.Load())
	}
}

// countedSecrets counts how often somebody looks.
type countedSecrets struct {
	config.SecretStore
	looked *atomic.Int32
}

func (s *countedSecrets) Secret(ctx context.Context, name string) (config.Secret, bool, error) {
	s.looked.Add(1)
	if name == "k" {
		return "key", true, nil
	}
	return s.SecretStore.Secret(ctx, name)
}
