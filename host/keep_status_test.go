package host_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// memoryStatuses is a store of statuses that counts.
type memoryStatuses struct {
	mu    sync.Mutex
	all   map[string]record.LastStatus
	saves int
	fail  bool
	hang  bool
}

func (m *memoryStatuses) Statuses(context.Context) (map[string]record.LastStatus, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.all), nil
}

func (m *memoryStatuses) SaveStatuses(ctx context.Context, changes map[string]record.LastStatus) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saves++
	if m.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if m.fail {
		return errors.New("the disk is full")
	}
	if m.all == nil {
		m.all = map[string]record.LastStatus{}
	}
	for name, s := range changes {
		if s == (record.LastStatus{}) {
			delete(m.all, name)
		} else {
			m.all[name] = s
		}
	}
	return nil
}

func (m *memoryStatuses) at(name string) record.LastStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[name]
}

func records(n int) []*record.Record {
	var all []*record.Record
	for i := range n {
		all = append(all, &record.Record{Name: fmt.Sprint("s", i), Command: "x"})
	}
	return all
}

func TestStatusIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memoryStatuses{all: map[string]record.LastStatus{"gone": {Status: record.StatusConnected}, "s1": {Status: record.StatusError, Error: "old", Tools: 9}}}
		store := record.NewMemoryStore(append(records(20), &record.Record{Name: "bad", Command: "broken", Env: map[string]config.Secret{"KEY": managedSecret}},
			&record.Record{Name: "off", Command: "x", Disabled: true})...)
		h, err := host.OpenStore(t.Context(), store, fakes(&host.Options{Statuses: m}))
		if err != nil {
			t.Fatal(err)
		}
		opened := time.Now()
		time.Sleep(time.Second)
		synctest.Wait()
		if m.saves > 3 {
			t.Errorf("the start of 22 servers was saved %d times", m.saves)
		}
		for _, name := range []string{"s0", "s1", "s19"} {
			if s := m.at(name); s.Status != record.StatusConnected || s.Tools != 1 || s.Error != "" || s.Connected.After(opened) || s.Connected.IsZero() {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if s := m.at("bad"); s.Status != record.StatusError || s.Error != "it is broken by ****" || !s.Connected.IsZero() {
			t.Errorf("bad: %+v", s)
		}
		if s := m.at("off"); s.Status != record.StatusDisconnected {
			t.Errorf("off: %+v", s)
		}
		if s := m.at("gone"); s.Status != "" {
			t.Errorf("a server that is not configured: %+v", s)
		}

		connected := m.at("s0").Connected
		if _, err := h.UpdateServer(t.Context(), "s0", patch(t, `{"enabled": false}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := h.RemoveServer(t.Context(), "s1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := m.at("s0"); s.Status != record.StatusDisconnected || !s.Connected.Equal(connected) || s.Tools != 1 {
			t.Errorf("switched off: %+v", s)
		}
		if s := m.at("s1"); s.Status != "" {
			t.Errorf("removed: %+v", s)
		}
		saves := m.saves
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if m.saves != saves {
			t.Errorf("while nothing changed it was saved %d times", m.saves-saves)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if s := m.at("s2"); s.Status != record.StatusDisconnected || s.Tools != 1 {
			t.Errorf("after Close: %+v", s)
		}
		if s := m.at("bad"); s.Status != record.StatusError {
			t.Errorf("after Close: %+v", s)
		}
	})
}

// A program that ends at once has kept what it saw.
func TestStatusOfAShortRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memoryStatuses{}
		h, err := host.OpenStore(t.Context(), record.NewMemoryStore(records(2)...), fakes(&host.Options{Statuses: m}))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if s := m.at("s1"); s.Status != record.StatusDisconnected || s.Tools != 1 || s.Connected.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

func TestStatusStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memoryStatuses{fail: true}
		h, err := host.OpenStore(t.Context(), record.NewMemoryStore(records(2)...), fakes(&host.Options{Statuses: m}))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		m.mu.Lock()
		m.fail, m.hang = false, true
		m.mu.Unlock()
		began := time.Now()
		if err := h.Restart(t.Context(), "s0"); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited > 10*time.Second {
			t.Errorf("Close waited %v for a store that does not answer", waited)
		}
	})
}

// TestStatusesOfOtherStores: stores that are no files have no name by which what became
// of their servers could be told from that of others' in the same folder.
func TestStatusesOfOtherStores(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *host.Host {
		t.Helper()
		store := record.NewMemoryStore(&record.Record{Name: name, Command: "x"})
		h, err := host.OpenStore(t.Context(), store, &host.Options{StateDir: dir, Transport: (&acceptTown{}).transport})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		return h
	}
	open("a")
	open("b")
	if files, err := filepath.Glob(filepath.Join(dir, "status", "*")); err != nil || len(files) > 0 {
		t.Errorf("%q, %v", files, err)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"c": {"command": "x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.OpenStore(t.Context(), edit.OpenFileStore(path, nil), &host.Options{StateDir: dir, Transport: (&acceptTown{}).transport})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "status", "*.json")); err != nil || len(files) != 1 {
		t.Errorf("of a file: %q, %v", files, err)
	}
}
