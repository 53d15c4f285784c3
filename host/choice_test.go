//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// merged returns what a project's file and the user's own say of one name.
func (p *project) merged(theirs, own string) *config.Config {
	p.Helper()
	file := filepath.Join(p.dir, "user.json")
	assert.OK(p, os.WriteFile(file, []byte(`{"mcpServers":{"notes":`+own+`}}`), 0o600))
	user := assert.Value(config.Load(context.Background(), file, &config.Options{Scope: config.ScopeUser}))(p)
	return config.Merge(p.config(theirs), user)
}

const (
	theirEntry = `{"command":"./bin/notes","cwd":".","args":["theirs"]}`
	ownEntry   = `{"command":"./bin/notes","cwd":".","args":["own"]}`
)

// wantRuns waits for the server to run as the entry of a scope, and as no other.
func wantRuns(t *testing.T, h *host.Host, want config.Scope) {
	t.Helper()
	for s := range h.Watch(watchdog(t)) {
		if s[0].Stage == host.StageReady && s[0].Source.Scope == want {
			return
		}
	}
	t.Fatalf("got %v, want the entry of scope %q to run", h.Servers(), want)
}

func wantTools(t *testing.T, h *host.Host, want int) {
	t.Helper()
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), want, "tools")
}

// TestWhatWaitsHidesNothing: the user's own server runs until that of the project, which
// has its name, was allowed, and again when it is rejected.
func TestWhatWaitsHidesNothing(t *testing.T) {
	for _, test := range []struct {
		how             string
		approve, reject func(t *testing.T, h *host.Host, book *consent.Book, l *consent.Launch) error
	}{
		{"here",
			func(t *testing.T, h *host.Host, _ *consent.Book, l *consent.Launch) error {
				return h.AllowLaunch(t.Context(), "ann", l.Fingerprint())
			},
			func(t *testing.T, h *host.Host, _ *consent.Book, l *consent.Launch) error {
				return h.DenyLaunch(t.Context(), "ann", l.Fingerprint())
			}},
		{"elsewhere",
			func(t *testing.T, _ *host.Host, book *consent.Book, l *consent.Launch) error {
				return book.Decide(t.Context(), "bob", l, consent.Approved)
			},
			func(t *testing.T, _ *host.Host, book *consent.Book, l *consent.Launch) error {
				return book.Decide(t.Context(), "bob", l, consent.Rejected)
			}},
	} {
		t.Run(test.how, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			book := consent.New()
			h := newApprovalHost(t, book)
			p.reported(h.Apply(t.Context(), p.merged(theirEntry, ownEntry)))
			wantRuns(t, h, config.ScopeUser)
			p.wantStarts("./bin/notes own")
			pending := h.PendingLaunches()
			assert.List(t, assert.Only(t, pending).Args, []string{"theirs"})
			assert.OK(t, test.approve(t, h, book, pending[0]))
			wantRuns(t, h, config.ScopeProject)
			assert.Equal(t, len(h.PendingLaunches()), 0, "launches that wait")
			assert.OK(t, test.reject(t, h, book, pending[0]))
			wantRuns(t, h, config.ScopeUser)
			p.wantStarts("./bin/notes own", filepath.Join(p.dir, "bin/notes")+" theirs", "./bin/notes own")
			wantTools(t, h, 1)
		})
	}
}

// TestChoiceLeavesADisabledServerAlone: who has switched a server off is not overruled by
// a decision about the project's.
func TestChoiceLeavesADisabledServerAlone(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.reported(h.Apply(t.Context(), p.merged(theirEntry, ownEntry)))
	wantRuns(t, h, config.ScopeUser)
	l := h.PendingLaunches()[0]
	assert.OK(t, h.Disable(t.Context(), "notes"))
	assert.Equal(t, len(h.PendingLaunches()), 0, "launches that wait")
	_ = h.AllowLaunch(t.Context(), "ann", l.Fingerprint()) // it may be stale now
	assert.Equal(t, h.Servers()[0].Stage, host.StageDisabled, "stage")
	p.wantStarts("./bin/notes own")
}

// TestWhatComesToWaitHidesNothing: an entry that a project's file comes to have leaves
// the user's own server as it is, and so does one of a program that is not there.
func TestWhatComesToWaitHidesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.reported(h.Apply(t.Context(), p.merged(`{"command":"mcpbelt-no-such-program"}`, ownEntry)))
	wantRuns(t, h, config.ScopeUser)
	r, err := h.Apply(t.Context(), p.merged(theirEntry, ownEntry))
	assert.OK(t, err)
	assert.Equal(t, strings.Join(r.Kept, " "), "notes")
	p.wantStarts("./bin/notes own")
	l := approvePending(t, h)
	wantRuns(t, h, config.ScopeProject)
	r = assert.Value(h.Apply(t.Context(), p.merged(theirEntry, ownEntry)))(t)
	assert.Equal(t, strings.Join(r.Kept, " "), "notes")
	p.reported(h.Apply(t.Context(), p.merged(`{"command":"./bin/notes","cwd":".","args":["changed"]}`, ownEntry)))
	wantRuns(t, h, config.ScopeUser)
	p.wantStarts("./bin/notes own", l.Path+" theirs", "./bin/notes own")
}
