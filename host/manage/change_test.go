package manage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
)

func TestManageInAFile(t *testing.T) {
	path := write(t, "a", `{"command": "x", "env": {"KEY": "`+managedSecret+`"}} /* by hand */`, "own", `{"command": "x", "builtin": true}`)
	m := open(t, path, fakes())
	before, _ := m.Host().Client(watchdog(t), session.Key{Server: "own"})

	report, err := m.Add(watchdog(t), &record.Record{Name: "My server", Command: "x", Args: []string{"${HOME}"}})
	expectReport(t, "add", report, err, "started [My_server] stopped [] replaced [] kept [] failed 0")
	assert.Equal(t, names(m.Host()), "My_server__echo a__echo own__echo", "tools")

	report, err = m.Update(watchdog(t), "a", patch(t, `{"description": "new", "env": {"KEY": "sk-****abcd"}}`))
	expectReport(t, "update", report, err, "started [] stopped [] replaced [a] kept [] failed 0")
	report, err = m.Update(watchdog(t), "a", patch(t, `{"env": {"KEY": "sk-****abcd"}}`))
	expectReport(t, "update of nothing", report, err, "started [] stopped [] replaced [] kept [a] failed 0")
	report, err = m.Update(watchdog(t), "My_server", patch(t, `{"enabled": false}`))
	expectReport(t, "disable", report, err, "started [] stopped [My_server] replaced [] kept [] failed 0")
	report, err = m.Update(watchdog(t), "My server", patch(t, `{"enabled": true, "name": "other"}`))
	expectReport(t, "rename", report, err, "started [other] stopped [My_server] replaced [] kept [] failed 0")
	assert.Equal(t, names(m.Host()), "a__echo other__echo own__echo", "tools")

	if _, err := m.Remove(watchdog(t), "own"); !isCode(err, record.CodeBuiltinReadOnly) {
		t.Errorf("remove of a builtin: %v", err)
	}
	report, err = m.Remove(watchdog(t), "other")
	expectReport(t, "remove", report, err, "started [] stopped [other] replaced [] kept [] failed 0")
	_, err = m.Remove(watchdog(t), "other")
	assert.Equal(t, isCode(err, record.CodeNotFound), true, "second remove")

	data := assert.Value(os.ReadFile(path))(t)
	for _, want := range []string{"/* by hand */", managedSecret, `"description": "new"`} {
		assert.Contains(t, string(data), want, "the file has no")
	}
	assert.Lacks(t, string(data), "****")
	assert.Lacks(t, string(data), "My server")
	if after, _ := m.Host().Client(watchdog(t), session.Key{Server: "own"}); after == nil || after != before {
		t.Error("a server that nobody changed was made anew")
	}
	// Who opens the file now has the same servers.
	again := open(t, path, fakes())
	got := names(again.Host())
	assert.Equal(t, got, names(m.Host()), "opened again")
	assert.Equal(t, got, "a__echo own__echo", "opened again")
}

func TestManageRefuses(t *testing.T) {
	store := record.NewMemoryStore(&record.Record{Name: "a", URL: "https://good.example.com/", Headers: map[string]config.Secret{"Authorization": managedSecret}})
	m := openStore(t, store, fakes())
	was, _ := store.Records(t.Context())
	for what, c := range map[string]struct {
		do   func() (host.Report, error)
		code record.Code
	}{
		"a name that is taken": {func() (host.Report, error) {
			return m.Add(watchdog(t), &record.Record{Name: "a", Command: "x"})
		}, record.CodeNameTaken},
		"no command": {func() (host.Report, error) { return m.Add(watchdog(t), &record.Record{Name: "b"}) }, record.CodeCommandRequired},
		"a mask that is stored": {func() (host.Report, error) {
			return m.Add(watchdog(t), &record.Record{Name: "b", Command: "x", Env: map[string]config.Secret{"K": "****"}})
		}, record.CodeMaskUnmatched},
		"a secret to another host": {func() (host.Report, error) {
			return m.Update(watchdog(t), "a", patch(t, `{"url": "https://evil.example.com/", "headers": {"Authorization": "sk-****abcd"}}`))
		}, record.CodeSecretMoved},
		"an old revision": {func() (host.Report, error) {
			return m.Update(watchdog(t), "a", patch(t, `{"description": "x", "revision": "0"}`))
		}, record.CodeConflict},
		"nobody": {func() (host.Report, error) { return m.Update(watchdog(t), "none", nil) }, record.CodeNotFound},
	} {
		_, err := c.do()
		assert.Equal(t, isCode(err, c.code), true, "%s", what)
		assert.Lacks(t, fmt.Sprint(err), managedSecret, "%s", what)
	}
	if now, _ := store.Records(t.Context()); len(now) != 1 || now[0].Revision != was[0].Revision {
		t.Errorf("the store changed: %v", now)
	}
	assert.OK(t, m.Close())
	_, err := m.Add(t.Context(), &record.Record{Name: "late", Command: "x"})
	assert.Is(t, err, host.ErrClosed, "after Close")
	now, _ := store.Records(t.Context())
	assert.Equal(t, len(now), 1, "after Close the store has")
}

func TestManageKeepsTheOldServerOfABrokenChange(t *testing.T) {
	store := record.NewMemoryStore(&record.Record{Name: "a", Command: "x"})
	m := openStore(t, store, fakes())
	report, err := m.Update(watchdog(t), "a", patch(t, `{"command": "broken"}`))
	expectReport(t, "update", report, err, "started [] stopped [] replaced [] kept [] failed 1")
	assert.Value(call(t, m.Host(), "a__echo", `{"text": "hi"}`))(t)
	all, err := m.Servers(t.Context())
	if err != nil || len(all) != 1 || all[0].Record.Command != "broken" || all[0].Status == nil {
		t.Errorf("%v, %v", all, err)
	}
	report, err = m.Update(watchdog(t), "a", patch(t, `{"command": "x", "description": "mended"}`))
	expectReport(t, "mend", report, err, "started [] stopped [] replaced [a] kept [] failed 0")
}

// Many change different servers and the same one: what is in the store at last runs.
func TestManageByMany(t *testing.T) {
	path := write(t, "shared", `{"command": "x"}`)
	m := open(t, path, fakes())
	ctx := watchdog(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			name := fmt.Sprint("own", i)
			if _, err := m.Add(ctx, &record.Record{Name: name, Command: "x"}); err != nil {
				t.Errorf("add: %v", err)
			}
			for j := range 3 {
				if _, err := m.Update(ctx, "shared", patch(t, fmt.Sprintf(`{"description": "%d %d"}`, i, j))); err != nil {
					t.Errorf("update: %v", err)
				}
			}
			if _, err := m.Remove(ctx, name); err != nil {
				t.Errorf("remove: %v", err)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, names(m.Host()), "shared__echo", "tools")
	c, err := config.Load(t.Context(), path, nil)
	if err != nil || len(c.Servers) != 1 || c.Servers[0].Description != status(t, m.Host(), "shared").Description {
		t.Errorf("the file says %q, the host runs %q, %v", c.Servers[0].Description, status(t, m.Host(), "shared").Description, err)
	}
}

// slowStore saves, and ends the context of who asked.
type slowStore struct {
	record.Store
	saved func()
}

func (s *slowStore) Save(ctx context.Context, name string, r *record.Record, old record.Revision) (record.Revision, error) {
	rev, err := s.Store.Save(ctx, name, r, old)
	s.saved()
	return rev, err
}

func TestManageIsCarriedOutWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(watchdog(t))
	m := openStore(t, &slowStore{record.NewMemoryStore(), cancel}, fakes())
	_, err := m.Add(ctx, &record.Record{Name: "a", Command: "x"})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for range m.Host().Watch(watchdog(t)) {
		if names(m.Host()) == "a__echo" {
			return
		}
	}
	t.Errorf("what is in the store does not run: %v", m.Host().Servers())
}

func TestManagedServersAreMasked(t *testing.T) {
	path := write(t, "a", `{"command": "broken", "args": ["--token", "`+managedSecret+`"], "env": {"KEY": "`+managedSecret+`"}}`)
	statuses := record.OpenStatusFile(filepath.Join(t.TempDir(), "status.json"))
	m := open(t, path, withStatuses(statuses))
	assert.OK(t, m.Close())
	all, err := m.Servers(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	data := assert.Value(json.Marshal(all))(t)
	for _, want := range []string{`"revision":"`, `"lastStatus":"error"`, `"lastError":"it is broken by ****"`, `"toolCount":0`, `"KEY":"sk-****abcd"`} {
		assert.Contains(t, string(data), want)
	}
	assert.Lacks(t, string(data), managedSecret)
	// What was shown is taken back and changes nothing.
	shown, _ := json.Marshal(all[0])
	m = open(t, path, fakes())
	all, _ = m.Servers(t.Context())
	p := patch(t, string(shown))
	p.Revision = all[0].Revision
	assert.Value(m.Update(watchdog(t), "a", p))(t)
}

// A host that follows its store goes well with a manager of it: each change is reported, and the servers
// are those of the records in the end.
func TestManageWhileFollowing(t *testing.T) {
	opts := fakes()
	opts.Host.Follow = true
	m := openStore(t, record.NewStore(storage.NewMemory(), "servers"), opts)
	ctx := watchdog(t)
	for range 5 {
		for _, name := range []string{"a", "b"} {
			assert.Value(m.Add(ctx, &record.Record{Name: name, Command: "x"}))(t)
		}
		assert.Value(m.Update(ctx, "b", patch(t, `{"description": "new"}`)))(t)
		assert.Value(m.Remove(ctx, "a"))(t)
		assert.Value(m.Remove(ctx, "b"))(t)
	}
	assert.Value(m.Add(ctx, &record.Record{Name: "c", Command: "x"}))(t)
	for range m.Host().Watch(ctx) {
		if names(m.Host()) == "c__echo" {
			break
		}
	}
	assert.Equal(t, names(m.Host()), "c__echo", "the tools")
}
