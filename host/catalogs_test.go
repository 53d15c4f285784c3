package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A hungStore does not answer before a context ends.
type hungStore struct{ storage.Store }

func (hungStore) Load(ctx context.Context, _ string, _ storage.Revision) (storage.Record, error) {
	<-ctx.Done()
	return storage.Record{}, ctx.Err()
}

func (hungStore) Save(ctx context.Context, _ string, _ []byte, _ storage.Revision) (storage.Revision, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// A host lists the tools of a lazy server that another host has run, and does not start it.
func TestCatalogsInAStore(t *testing.T) {
	store := storage.NewMemory()
	path := write(t, "s", `{"command": "x", "args": ["1"], "lazy": true}`)
	town := &acceptTown{}
	opts := town.options()
	opts.Catalogs = store
	acceptWarm(t, path, opts)
	town.started.Store(0)

	other := town.options()
	other.Catalogs = store
	h := open(t, path, other)
	if got := acceptStages(h); got[host.StageCached] != 1 || names(h) != "s__echo" {
		t.Errorf("stages and tools: got %v and %s, want one that is cached, and its tool", got, names(h))
	}
	assert.Equal(t, town.started.Load(), 0, "servers that were started")
	if text, err := call(t, h, "s__echo", "{}"); err != nil || text != "1" {
		t.Errorf("call: got %q, %v, want 1", text, err)
	}
}

// A store that hangs holds up the start of servers for 2 seconds, no call, and Close for 2 seconds.
func TestCatalogsInAStoreThatHangs(t *testing.T) {
	path := write(t, "a", `{"command": "x", "args": ["1"], "lazy": true}`, "b", `{"command": "x", "args": ["2"], "lazy": true}`)
	synctest.Test(t, func(t *testing.T) {
		town := &acceptTown{}
		opts := town.options()
		opts.Catalogs, opts.OpenWait = hungStore{storage.NewMemory()}, time.Minute
		began := time.Now()
		h := assert.Value(host.Open(t.Context(), path, opts))(t)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("Open: got %v, want 2s", took)
		}
		synctest.Wait()
		began = time.Now()
		if text, err := acceptAnswer(h.Registry().Call(t.Context(), "a__echo", nil)); err != nil || text != "1" {
			t.Errorf("call: got %q, %v, want 1", text, err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("call: got %v, want no wait", took)
		}
		began = time.Now()
		if err := h.Close(); err != nil {
			t.Errorf("Close: got %v, want no error", err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("Close: got %v, want 2s", took)
		}
	})
}
