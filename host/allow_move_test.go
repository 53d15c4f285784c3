//go:build unix

package host_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// applyFrom has a host run an entry of the project as if it stood in that file, in
// that scope.
func (p *project) applyFrom(h *host.Host, entry, file string, scope config.Scope) host.Report {
	p.Helper()
	c := p.config(entry)
	c.Servers[0].Source.File, c.Servers[0].Source.Scope = file, scope
	report, err := h.Apply(p.Context(), c)
	if err != nil {
		p.Fatal(err)
	}
	return report
}

// The same entry in another file is trusted as that file is.
func TestApprovalFollowsTheFile(t *testing.T) {
	const entry = `{"command":"./bin/notes","cwd":"."}`
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	user, own := filepath.Join(t.TempDir(), "mcp.json"), filepath.Join(p.dir, ".mcp.json")

	p.applyFrom(h, entry, own, config.ScopeProject)
	wantStage(t, h, host.StageNotAllowed)
	if r := p.applyFrom(h, entry, user, config.ScopeUser); !slices.Equal(r.Started, []string{"notes"}) {
		t.Errorf("the user's own entry: %+v", r)
	}
	wantStage(t, h, host.StageReady)
	r := p.applyFrom(h, entry, own, config.ScopeProject)
	if !slices.Equal(r.Stopped, []string{"notes"}) || r.Failed["notes"] == nil {
		t.Errorf("the entry of the project: %+v", r)
	}
	wantStage(t, h, host.StageNotAllowed)
	approvePending(t, h)
	wantStage(t, h, host.StageReady)
	if r := p.applyFrom(h, entry, filepath.Join(p.dir, ".mcprc"), config.ScopeRC); !slices.Equal(r.Kept, []string{"notes"}) {
		t.Errorf("another file of the same folder: %+v", r)
	}
	if got := h.Servers()[0].Source.File; filepath.Base(got) != ".mcprc" {
		t.Errorf("it stands in %s", got)
	}
	p.applyFrom(h, entry, filepath.Join(t.TempDir(), ".mcp.json"), config.ScopeProject)
	wantStage(t, h, host.StageNotAllowed)
	if len(h.Registry().Snapshot().Tools()) != 0 {
		t.Error("tools of what is not approved are listed")
	}
}

// A flakyStore lives in memory, and cannot be read while it is down.
type flakyStore struct {
	*storage.Memory
	down atomic.Bool
}

var errStoreDown = errors.New("the store is down")

func (f *flakyStore) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if f.down.Load() {
		return storage.Record{}, errStoreDown
	}
	return f.Memory.Load(ctx, name, known)
}

// While nobody knows what is approved a changed entry does not start, and what runs
// goes on.
func TestApplyWhileBookIsDown(t *testing.T) {
	p := newProject(t)
	store := &flakyStore{Memory: storage.NewMemory()}
	book := assert.Value(consent.Load(t.Context(), store, "consents", nil))(t)
	h := newApprovalHost(t, book)
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	approvePending(t, h)
	store.down.Store(true)
	r, err := h.Apply(t.Context(), p.config(`{"command":"./bin/notes","args":["new"],"cwd":"."}`))
	if err != nil || !errors.Is(r.Failed["notes"], errStoreDown) || len(r.Stopped) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	wantStage(t, h, host.StageReady)
	assert.Equal(t, len(p.starts()), 1, "starts")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store.down.Store(false)
	_, _ = h.Apply(ctx, p.config(`{"command":"./bin/notes","args":["new"],"cwd":"."}`))
	if status := h.Servers()[0]; status.Stage != host.StageReady {
		t.Errorf("an Apply that was given up has stopped what ran: %v", status.Err)
	}
	assert.Lacks(t, strings.Join(p.starts(), "|"), "new", "started")
}
