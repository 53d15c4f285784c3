package manage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

func records(n int) []*config.Server {
	var all []*config.Server
	for i := range n {
		all = append(all, &config.Server{Name: fmt.Sprint("s", i), Command: "x"})
	}
	return all
}

func TestStatusIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := hosttest.NewStatuses(map[string]record.LastStatus{"gone": {Status: record.StatusConnected}, "s1": {Status: record.StatusError, Error: "old", Tools: 9}})
		store := record.NewMemoryStore(append(records(20), &config.Server{Name: "bad", Command: "broken", Env: map[string]config.Secret{"KEY": managedSecret}},
			&config.Server{Name: "off", Command: "x", Disabled: true})...)
		m := assert.Value(manage.OpenStore(t.Context(), store, withStatuses(kept)))(t)
		opened := time.Now()
		hosttest.Sleep(time.Second)
		assert.True(t, kept.Saves.Load() <= 3, "the start of 22 servers was saved %d times", kept.Saves.Load())
		for _, name := range []string{"s0", "s1", "s19"} {
			s := kept.At(name)
			assert.Equal(t, fmt.Sprint(s.Status, s.Tools, s.Error), fmt.Sprint(record.StatusConnected, 1, ""), "%s", name)
			assert.False(t, s.Connected.IsZero() || s.Connected.After(opened), "%s: no time", name)
		}
		s := kept.At("bad")
		assert.Equal(t, s.Status, record.StatusError, "bad")
		assert.Equal(t, s.Error, "it is broken by ****", "bad")
		assert.True(t, s.Connected.IsZero(), "bad")
		assert.Equal(t, kept.At("off").Status, record.StatusDisconnected, "off")
		assert.Equal(t, kept.At("gone").Status, "", "a server that is not configured")

		connected := kept.At("s0").Connected
		assert.Value(m.Update(t.Context(), "s0", patch(t, `{"enabled": false}`)))(t)
		assert.Value(m.Remove(t.Context(), "s1"))(t)
		hosttest.Sleep(time.Second)
		s = kept.At("s0")
		assert.Equal(t, s.Status, record.StatusDisconnected, "switched off")
		assert.True(t, s.Connected.Equal(connected), "switched off")
		assert.Equal(t, s.Tools, 1, "switched off")
		assert.Equal(t, kept.At("s1").Status, "", "removed")
		saves := kept.Saves.Load()
		hosttest.Sleep(10 * time.Minute)
		assert.Equal(t, kept.Saves.Load(), saves, "while nothing changed it was saved %d times", kept.Saves.Load()-saves)
		assert.OK(t, m.Close())
		s = kept.At("s2")
		assert.Equal(t, s.Status, record.StatusDisconnected, "after Close")
		assert.Equal(t, s.Tools, 1, "after Close")
		assert.Equal(t, kept.At("bad").Status, record.StatusError, "after Close")
	})
}

// A program that ends at once has kept what it saw.
func TestStatusOfAShortRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := hosttest.NewStatuses(nil)
		assert.OK(t, assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(records(2)...), withStatuses(kept)))(t).Close())
		s := kept.At("s1")
		assert.Equal(t, s.Status, record.StatusDisconnected)
		assert.Equal(t, s.Tools, 1)
		assert.False(t, s.Connected.IsZero(), "is zero")
	})
}

// A host that is shut down before its manager leaves what is kept.
func TestStatusOfAHostThatIsShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := hosttest.NewStatuses(nil)
		m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(records(1)...), withStatuses(kept)))(t)
		hosttest.Sleep(time.Second)
		assert.OK(t, m.Host().Shutdown(t.Context()))
		assert.OK(t, m.Close())
		got := kept.At("s0")
		assert.Equal(t, got.Status, record.StatusDisconnected, "the kept status")
		assert.Equal(t, got.Tools, 1)
		assert.False(t, got.Connected.IsZero(), "is zero")
	})
}

func TestStatusStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := hosttest.NewStatuses(nil)
		kept.OnSave.Store(new(func(context.Context) error { return errors.New("the disk is full") }))
		m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(records(2)...), withStatuses(kept)))(t)
		time.Sleep(time.Second)
		kept.OnSave.Store(new(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }))
		began := time.Now()
		assert.OK(t, m.Host().Restart(t.Context(), "s0"))
		assert.OK(t, m.Close())
		assert.True(t, time.Since(began) <= 10*time.Second, "Close does not wait for a store that does not answer")
	})
}

// TestStatusesOfOtherStores: stores that are no files have no name by which what became
// of their servers could be told from that of others' in the same folder.
func TestStatusesOfOtherStores(t *testing.T) {
	dir := t.TempDir()
	inFolder := func() *manage.Options {
		o := fakes()
		o.Host.StateDir = dir
		return o
	}
	open := func(name string) {
		t.Helper()
		store := record.NewMemoryStore(&config.Server{Name: name, Command: "x"})
		assert.Is(t, assert.Value(manage.OpenStore(t.Context(), store, inFolder()))(t).Close(), nil)
	}
	open("a")
	open("b")
	assert.Equal(t, len(assert.Value(filepath.Glob(filepath.Join(dir, "status", "*")))(t)), 0)
	path := filepath.Join(t.TempDir(), "servers.json")
	assert.OK(t, os.WriteFile(path, []byte(`{"mcpServers": {"c": {"command": "x"}}}`), 0o600))
	assert.OK(t, assert.Value(manage.OpenStore(t.Context(), edit.OpenFileStore(path, nil), inFolder()))(t).Close())
	assert.Equal(t, len(assert.Value(filepath.Glob(filepath.Join(dir, "status", "*.json")))(t)), 1, "of a file")
}
