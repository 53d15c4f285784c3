package ledger

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/storage"
)

// surfaceTool returns the definition of a tool that has something everywhere.
func surfaceTool(name string, edits ...func(*Tool)) *Tool {
	def := &Tool{
		Name:         name,
		Title:        "The tool",
		Description:  "Does " + name + ".",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"where"},"n":{"type":"integer","maximum":9007199254740993,"enum":[1,2]}},"required":["path"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
		Annotations:  json.RawMessage(`{"readOnlyHint":true,"x-cost":1}`),
	}
	for _, edit := range edits {
		edit(def)
	}
	return def
}

func surfacesIn(defs ...*Tool) []*Surface {
	var surfaces []*Surface
	for _, def := range defs {
		surfaces = append(surfaces, NewSurface(def))
	}
	return surfaces
}

func mustRecord(t testing.TB, l *Ledger, s *Server, defs ...*Tool) {
	t.Helper()
	assert.OK(t, l.Record(t.Context(), *s, surfacesIn(defs...)))
}

func mustApprove(t testing.TB, l *Ledger, changes ...Change) {
	t.Helper()
	assert.OK(t, l.Accept(t.Context(), "alice", changes...))
}

// openLedger opens a ledger whose writers wait for each other for as long as it takes.
func openLedger(t testing.TB, path string, mode Mode) *Ledger {
	t.Helper()
	l := assert.Value(Open(path, &Options{Mode: mode}))(t)
	l.store.(*document.File).Patience = time.Hour
	return l
}

// loadLedger returns a ledger that is kept in a store.
func loadLedger(t testing.TB, store storage.Store) *Ledger {
	t.Helper()
	return assert.Value(Load(t.Context(), store, "ledger", nil))(t)
}

// pendingIn returns what waits, as "tool kind".
func pendingIn(l *Ledger, servers ...string) string { return kindsOf(l.Pending(servers...)) }

func kindsOf(changes []Change) string {
	var kinds []string
	for _, c := range changes {
		kinds = append(kinds, strings.TrimSpace(c.Tool+" "+string(c.Kind)))
	}
	return strings.Join(kinds, ", ")
}

// kindOf returns the kind of a change, and nothing of none.
func kindOf(c *Change) ChangeKind {
	if c == nil {
		return ""
	}
	return c.Kind
}

func ledgerPath(t testing.TB) string { return filepath.Join(t.TempDir(), "mcp.lock.json") }

// wantKind checks why tools may not be called; empty if they may.
func wantKind(t *testing.T, l *Ledger, s *Server, want ChangeKind, defs ...*Tool) {
	t.Helper()
	for _, def := range defs {
		assert.Equal(t, kindOf(l.Judge(*s, NewSurface(def))), want, "%s is quarantined as", def.Name)
	}
}

// rejectEntry rejects what is accepted.
func rejectEntry(t *testing.T, l *Ledger, e Entry) {
	t.Helper()
	assert.OK(t, l.Reject(t.Context(), "alice", Change{Server: e.Server, Tool: e.Tool, Hash: e.Hash}))
}

// withEachStore runs a test with a ledger in memory, with one in a file, and with one
// that is opened again for each step.
func withEachStore(t *testing.T, mode Mode, test func(t *testing.T, next func() *Ledger)) {
	inMemory(t, mode, test)
	t.Run("file", func(t *testing.T) {
		l := openLedger(t, ledgerPath(t), mode)
		test(t, func() *Ledger { return l })
	})
	t.Run("restarts", func(t *testing.T) {
		path := ledgerPath(t)
		test(t, func() *Ledger { return openLedger(t, path, mode) })
	})
}

func missingLines(before, after string) []string {
	have := strings.Split(after, "\n")
	var lost []string
	for _, line := range strings.Split(before, "\n") {
		if at := slices.Index(have, line); at >= 0 {
			have = have[at+1:]
		} else {
			lost = append(lost, line)
		}
	}
	return lost
}

// entriesIn returns what is approved in the file, as "server tool".
func entriesIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	approved := map[string]bool{}
	for _, e := range openLedger(t, path, Pin).Entries() {
		approved[e.Server+" "+e.Tool] = !e.Rejected
	}
	return approved
}

// A countingStore is a store in memory that can fail.
type countingStore struct {
	storage.Store
	data   []byte // that were saved last
	saves  int
	before func() error // called by Save
}

func newCountingStore() *countingStore { return &countingStore{Store: storage.NewMemory()} }

func (s *countingStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return "", err
		}
	}
	at, err := s.Store.Save(ctx, name, data, old)
	if err == nil {
		s.data, s.saves = slices.Clone(data), s.saves+1
	}
	return at, err
}

// inMemory runs a test with a ledger in memory alone.
func inMemory(t *testing.T, mode Mode, test func(t *testing.T, next func() *Ledger)) {
	t.Run("memory", func(t *testing.T) {
		l := New(&Options{Mode: mode})
		test(t, func() *Ledger { return l })
	})
}

// github is the server of most tests.
var github = &Server{Name: "github"}

// ledgerText returns what stands in the file.
func ledgerText(t testing.TB, path string) string {
	t.Helper()
	return string(assert.Value(os.ReadFile(path))(t))
}
