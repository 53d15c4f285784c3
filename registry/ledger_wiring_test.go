package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/storage"
)

func describe(t testing.TB, tool registry.Tool, edit func(*registry.Definition)) registry.Tool {
	t.Helper()
	edited := assert.Value(registry.With(tool, edit))(t)
	return edited
}

// A tool that was moved to another name at its server is kept under the name that
// its server gave it: the file has to be readable afterwards.
func TestLedgerOfMovedTool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.lock.json")
	r := newPinned(t, path)
	tool := describe(t, serverTool("mail", "send", ""), func(d *registry.Definition) { d.Origin.Tool = "post" })
	mustReplace(t, r, "mail", tool)
	again := newPinned(t, path)
	mustReplace(t, again, "mail", tool)
	if _, err := again.Call(t.Context(), "mail__send", nil); err != nil {
		t.Error(err)
	}
	changed := describe(t, serverTool("mail", "send", "and a copy"), func(d *registry.Definition) { d.Origin.Tool = "post" })
	mustReplace(t, again, "mail", changed)
	if _, err := again.Call(t.Context(), "mail__send", nil); !errors.As(err, new(*registry.QuarantinedError)) {
		t.Errorf("the changed tool: %v", err)
	}
}

// A countingStore counts saves, and holds them up until pass is closed.
type countingStore struct {
	storage.Store
	saves atomic.Int64
	pass  chan struct{}
}

func (s *countingStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	s.saves.Add(1)
	<-s.pass
	return s.Store.Save(ctx, name, data, old)
}

// TestReplaceAtOnceIsWrittenOnce replaces the tools of 50 servers at the same time: the
// ledger writes the first one, and then all others together.
func TestReplaceAtOnceIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: storage.NewMemory(), pass: make(chan struct{})}
		accepted := assert.Value(ledger.Load(t.Context(), store, "ledger", nil))(t)
		r := registry.New(&registry.Options{Ledger: accepted})
		var work sync.WaitGroup
		for i := range 50 {
			work.Go(func() {
				name := fmt.Sprint("server", i)
				if _, err := r.Replace(registry.Server{Name: name}, []registry.Tool{serverTool(name, "send", "")}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(store.pass)
		work.Wait()
		if got := store.saves.Load(); got > 2 {
			t.Errorf("got %d writes, want at most 2", got)
		}
		again := assert.Value(ledger.Load(t.Context(), store.Store, "ledger", nil))(t)
		assert.Equal(t, len(again.Entries()), 50, "tools kept")
	})
}

// The ledger cannot be written, or is in the middle of a merge: what a server has
// changed is held back all the same, and what it has not changed goes on.
func TestChangeWithDamagedLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.lock.json")
	accepted := assert.Value(ledger.Open(path, nil))(t)
	r := registry.New(&registry.Options{Ledger: accepted})
	mustReplace(t, r, "mail", serverTool("mail", "send", ""), serverTool("mail", "list", ""))
	sound := assert.Value(os.ReadFile(path))(t)
	assert.OK(t, os.WriteFile(path, append([]byte("<<<<<<< HEAD\n"), sound...), 0o600))
	now := []registry.Tool{serverTool("mail", "send", "and a copy"), serverTool("mail", "list", "")}
	diff, err := r.Replace(registry.Server{Name: "mail"}, now)
	if !errors.As(err, new(*ledger.Error)) || len(diff.Quarantined) != 1 {
		t.Errorf("replaced: %+v, %v", diff, err)
	}
	if got := accepted.Pending(); len(got) != 1 || got[0].Tool != "send" {
		t.Errorf("pending: %+v", got)
	}
	if _, err := r.Replace(registry.Server{Name: "new"}, []registry.Tool{serverTool("new", "a", "")}); !errors.As(err, new(*ledger.Error)) {
		t.Errorf("a server that is seen for the first time: %v", err)
	}
	for name, held := range map[string]bool{"mail__send": true, "mail__list": false, "new__a": true} {
		if _, err := r.Call(t.Context(), name, nil); errors.As(err, new(*registry.QuarantinedError)) != held || !held && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, _ := os.ReadFile(path); !slices.Equal(data[13:], sound) {
		t.Errorf("the file was written over: %s", data)
	}
	assert.OK(t, os.WriteFile(path, sound, 0o600))
	if diff := mustReplace(t, r, "mail", now...); len(diff.Quarantined) != 1 {
		t.Errorf("afterwards: %+v", diff)
	}
}

// Tools that are added to those of a server are not all that it has.
func TestAddToServer(t *testing.T) {
	accepted := ledger.New(nil)
	r := registry.New(&registry.Options{Ledger: accepted})
	mustReplace(t, r, "mail", serverTool("mail", "list", ""))
	mustReplace(t, r, "mail", serverTool("mail", "list", ""), serverTool("mail", "send", ""))
	mustAdd(t, r, serverTool("mail", "drop", ""))
	assert.Equal(t, len(accepted.Pending("mail")), 2, "tools are pending")
	for _, q := range r.Snapshot().Quarantined() {
		if err := accepted.Accept(t.Context(), "ann", *q.Change); err != nil {
			t.Errorf("approving %s: %v", q.Tool.Name, err)
		}
	}
	for _, name := range []string{"mail__list", "mail__send", "mail__drop"} {
		if _, err := r.Call(t.Context(), name, nil); err != nil {
			t.Error(err)
		}
	}
	// What cannot be added is not approved by it.
	err := r.Add(serverTool("post", "a", ""), describe(t, serverTool("post", "b", ""), func(d *registry.Definition) { d.Name = "mail__list" }))
	if !errors.As(err, new(*registry.DuplicateError)) {
		t.Fatalf("a name that is taken: %v", err)
	}
	if got := accepted.Entries("post"); len(got) != 0 {
		t.Errorf("approved by an Add that failed: %+v", got)
	}
}

// What another process has rejected is not called any more once the server's tools
// are listed again.
func TestRejectedElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.lock.json")
	r := newPinned(t, path)
	tool := serverTool("mail", "send", "")
	mustReplace(t, r, "mail", tool)
	other := assert.Value(ledger.Open(path, nil))(t)
	e := other.Entries("mail")[0]
	assert.OK(t, other.Reject(t.Context(), "ann", ledger.Change{Server: e.Server, Tool: e.Tool, Hash: e.Hash}))
	mustReplace(t, r, "mail", tool)
	var held *registry.QuarantinedError
	if _, err := r.Call(t.Context(), "mail__send", nil); !errors.As(err, &held) || held.Change.Kind != ledger.ToolRejected {
		t.Errorf("the call: %v", err)
	}
}

// Whoever replaces the native tools does not mean the one that reads what is kept.
func TestReplaceNativeToolsKeepsReader(t *testing.T) {
	r := registry.New(&registry.Options{Results: &result.Options{}})
	mustReplace(t, r, "", native("a"))
	mustReplace(t, r, "", native("b"))
	if got := listedNames(r.Snapshot()); !slices.Equal(got, []string{"b", "read_result"}) {
		t.Errorf("listed are %q", got)
	}
	r.Remove("read_result")
	mustReplace(t, r, "", native("b"))
	if got := listedNames(r.Snapshot()); !slices.Equal(got, []string{"b"}) {
		t.Errorf("listed are %q, though read_result was removed", got)
	}
}

// Each decision counts, however many there are between two lists of a server.
func TestDecisionsTakeTurns(t *testing.T) {
	accepted := ledger.New(nil)
	r := registry.New(&registry.Options{Ledger: accepted})
	mustReplace(t, r, "mail", serverTool("mail", "send", ""), serverTool("mail", "list", ""))
	mustReplace(t, r, "post", serverTool("post", "send", ""))
	e := accepted.Entries("mail")[1]
	send := ledger.Change{Server: e.Server, Tool: e.Tool, Hash: e.Hash}
	for i := range 4 {
		want := []string{"mail__list", "mail__send", "post__send"}
		decide := accepted.Accept
		if i%2 == 0 {
			decide, want = accepted.Reject, []string{"mail__list", "post__send"}
		}
		assert.OK(t, decide(t.Context(), "ann", send))
		if got := listedNames(r.Snapshot()); !slices.Equal(got, want) {
			t.Errorf("after decision %d listed are %q, want %q", i+1, got, want)
		}
	}
	r.Remove("mail__list")
	assert.OK(t, accepted.Forget(t.Context(), "mail"))
	if got := listedNames(r.Snapshot()); !slices.Equal(got, []string{"post__send"}) {
		t.Errorf("of a server that was forgotten listed are %q", got)
	}
}
