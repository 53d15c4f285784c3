// Tests of change.go, manager.go and server.go: changes of records, and what runs then.

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
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestManageInAFile(t *testing.T) {
	path := write(t, "a", `{"command": "x", "env": {"KEY": "`+managedSecret+`"}} /* by hand */`, "own", `{"command": "x", "builtin": true}`)
	m := open(t, path, fakes())
	before, _ := m.Host().Client(watchdog(t), session.Key{Server: "own"})

	expectReport(t, "add", "started [My_server] stopped [] replaced [] kept [] failed 0")(m.Add(watchdog(t), &config.Server{Name: "My server", Command: "x", Args: []string{"${HOME}"}}))
	assert.Equal(t, names(m.Host()), "My_server__echo a__echo own__echo", "tools")

	expectReport(t, "update", "started [] stopped [] replaced [a] kept [] failed 0")(m.Update(watchdog(t), "a", patch(t, `{"description": "new", "env": {"KEY": "****abcd"}}`)))
	expectReport(t, "update of nothing", "started [] stopped [] replaced [] kept [a] failed 0")(m.Update(watchdog(t), "a", patch(t, `{"env": {"KEY": "****abcd"}}`)))
	expectReport(t, "disable", "started [] stopped [My_server] replaced [] kept [] failed 0")(m.Update(watchdog(t), "My_server", patch(t, `{"enabled": false}`)))
	expectReport(t, "rename", "started [other] stopped [My_server] replaced [] kept [] failed 0")(m.Update(watchdog(t), "My server", patch(t, `{"enabled": true, "name": "other"}`)))
	assert.Equal(t, names(m.Host()), "a__echo other__echo own__echo", "tools")

	assert.Is(t, hosttest.ErrorOf(m.Remove(watchdog(t), "own")), &record.Error{Code: record.CodeBuiltinReadOnly}, "remove of a builtin")
	expectReport(t, "remove", "started [] stopped [other] replaced [] kept [] failed 0")(m.Remove(watchdog(t), "other"))
	assert.Is(t, hosttest.ErrorOf(m.Remove(watchdog(t), "other")), &record.Error{Code: record.CodeNotFound}, "second remove")

	data := assert.Value(os.ReadFile(path))(t)
	assert.ContainsAll(t, string(data), "/* by hand */", managedSecret, `"description": "new"`)
	assert.Lacks(t, string(data), "****")
	assert.Lacks(t, string(data), "My server")
	after, _ := m.Host().Client(watchdog(t), session.Key{Server: "own"})
	assert.Equal(t, after, before, "the client of a server that nobody changed")
	// Who opens the file now has the same servers.
	again := open(t, path, fakes())
	got := names(again.Host())
	assert.Equal(t, got, names(m.Host()), "opened again")
	assert.Equal(t, got, "a__echo own__echo", "opened again")
}

func TestManageRefuses(t *testing.T) {
	store := record.NewMemoryStore(&config.Server{Name: "a", URL: "https://good.example.com/", Headers: map[string]config.Secret{"Authorization": managedSecret}})
	m := openStore(t, store, fakes())
	was, _ := store.Records(t.Context())
	for what, c := range map[string]struct {
		do   func() (host.Report, error)
		code record.Code
	}{
		"a name that is taken": {func() (host.Report, error) {
			return m.Add(watchdog(t), &config.Server{Name: "a", Command: "x"})
		}, record.CodeNameTaken},
		"no command": {func() (host.Report, error) { return m.Add(watchdog(t), &config.Server{Name: "b"}) }, "stdio_command_required"},
		"a mask that is stored": {func() (host.Report, error) {
			return m.Add(watchdog(t), &config.Server{Name: "b", Command: "x", Env: map[string]config.Secret{"K": "****"}})
		}, "mask_unmatched"},
		"a secret to another host": {func() (host.Report, error) {
			return m.Update(watchdog(t), "a", patch(t, `{"url": "https://evil.example.com/", "headers": {"Authorization": "****abcd"}}`))
		}, "secret_moved"},
		"an old revision": {func() (host.Report, error) {
			return m.Update(watchdog(t), "a", patch(t, `{"description": "x", "revision": "0"}`))
		}, record.CodeConflict},
		"nobody": {func() (host.Report, error) { return m.Update(watchdog(t), "none", nil) }, record.CodeNotFound},
	} {
		_, err := c.do()
		assert.True(t, isCode(err, c.code), "%s", what)
		assert.Lacks(t, fmt.Sprint(err), managedSecret, "%s", what)
	}
	now, _ := store.Records(t.Context())
	assert.Equal(t, len(now), 1, "records")
	assert.Equal(t, now[0].Revision, was[0].Revision, "revision")
	assert.OK(t, m.Close())
	assert.Is(t, hosttest.ErrorOf(m.Add(t.Context(), &config.Server{Name: "late", Command: "x"})), host.ErrClosed, "after Close")
	now, _ = store.Records(t.Context())
	assert.Equal(t, len(now), 1, "after Close the store has")
}

func TestManageKeepsTheOldServerOfABrokenChange(t *testing.T) {
	m := openStore(t, record.NewMemoryStore(&config.Server{Name: "a", Command: "x"}), fakes())
	expectReport(t, "update", "started [] stopped [] replaced [] kept [] failed 1")(m.Update(watchdog(t), "a", patch(t, `{"command": "broken"}`)))
	assert.Value(call(t, m.Host(), "a__echo", `{"text": "hi"}`))(t)
	all := assert.Value(m.Servers(t.Context()))(t)
	assert.Equal(t, len(all), 1, "servers")
	assert.Equal(t, all[0].Record.Command, "broken")
	assert.False(t, all[0].Status == nil, "no status")
	expectReport(t, "mend", "started [] stopped [] replaced [a] kept [] failed 0")(m.Update(watchdog(t), "a", patch(t, `{"command": "x", "description": "mended"}`)))
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
			assert.Is(t, hosttest.ErrorOf(m.Add(ctx, &config.Server{Name: name, Command: "x"})), nil, "add")
			for j := range 3 {
				assert.Is(t, hosttest.ErrorOf(m.Update(ctx, "shared", patch(t, fmt.Sprintf(`{"description": "%d %d"}`, i, j)))), nil, "update")
			}
			assert.Is(t, hosttest.ErrorOf(m.Remove(ctx, name)), nil, "remove")
		})
	}
	wg.Wait()
	assert.Equal(t, names(m.Host()), "shared__echo", "tools")
	c := assert.Value(config.Load(t.Context(), path, nil))(t)
	assert.Equal(t, len(c.Servers), 1, "servers in the file")
	assert.Equal(t, c.Servers[0].Description, status(t, m.Host(), "shared").Description, "the file, and what the host runs")
}

// slowStore saves, and ends the context of who asked.
type slowStore struct {
	record.Store
	saved func()
}

func (s *slowStore) Save(ctx context.Context, name string, r *config.Server, old record.Revision) (record.Revision, error) {
	rev, err := s.Store.Save(ctx, name, r, old)
	s.saved()
	return rev, err
}

func TestManageIsCarriedOutWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(watchdog(t))
	m := openStore(t, &slowStore{record.NewMemoryStore(), cancel}, fakes())
	_, err := m.Add(ctx, &config.Server{Name: "a", Command: "x"})
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
	m := open(t, path, withStatuses(record.OpenStatusFile(filepath.Join(t.TempDir(), "status.json"))))
	assert.OK(t, m.Close())
	all := assert.Value(m.Servers(t.Context()))(t)
	assert.Equal(t, all[0].Last, record.LastStatus{Status: record.StatusError, Error: "it is broken by ****"})
	// What was shown is taken back and changes nothing.
	shown := assert.Value(json.Marshal(all[0].Record))(t)
	assert.Contains(t, string(shown), `"KEY":"****abcd"`)
	assert.Lacks(t, string(shown), managedSecret)
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
			assert.Value(m.Add(ctx, &config.Server{Name: name, Command: "x"}))(t)
		}
		assert.Value(m.Update(ctx, "b", patch(t, `{"description": "new"}`)))(t)
		assert.Value(m.Remove(ctx, "a"))(t)
		assert.Value(m.Remove(ctx, "b"))(t)
	}
	assert.Value(m.Add(ctx, &config.Server{Name: "c", Command: "x"}))(t)
	for range m.Host().Watch(ctx) {
		if names(m.Host()) == "c__echo" {
			break
		}
	}
	assert.Equal(t, names(m.Host()), "c__echo", "the tools")
}

// A record that was proposed is not started before a person has allowed its launch: not when it is
// added, changed or enabled, and not in the next run.
func TestProposedIsNotStarted(t *testing.T) {
	dir := t.TempDir()
	ran, path := filepath.Join(dir, "ran"), hosttest.Write(t)
	opts := &manage.Options{Host: *hosttest.Patient(&host.Options{StateDir: filepath.Join(dir, "state")})}
	m := open(t, path, opts)
	proposed := config.Server{Name: "canary", Command: "/bin/sh", Args: []string{"-c", "echo x >> " + ran}, Proposed: true}
	assert.Value(m.Add(watchdog(t), &proposed))(t)
	for _, change := range []string{`{"enabled": false}`, `{"enabled": true}`, `{"description": "x"}`, `{"env": {"A": "1"}}`} {
		assert.Value(m.Update(watchdog(t), "canary", patch(t, change)))(t)
	}
	assert.Value(m.Add(watchdog(t), &config.Server{Name: "own", Command: "none"}))(t)
	assert.Equal(t, len(m.Host().PendingLaunches()), 1, "launches that wait")
	assert.OK(t, m.Close())
	m = open(t, path, opts)
	pending := m.Host().PendingLaunches()
	assert.Equal(t, len(pending), 1, "launches after the restart")
	assert.Equal(t, pending[0].Server, "canary")
	assert.True(t, os.IsNotExist(hosttest.ErrorOf(os.Stat(ran))), "is not exist")
	_ = m.Host().AllowLaunch(watchdog(t), "ann", pending[0].Fingerprint()) // it is no server
	assert.Value(os.Stat(ran))(t)
}

// A page that knows a server by its ID lists, reads, changes, removes and restores it.
func TestManageByID(t *testing.T) {
	path := write(t, "a", `{"command": "x", "id": "theirs"}`)
	opts := fakes()
	opts.Host.StateDir = filepath.Join(t.TempDir(), "state")
	m := open(t, path, opts)
	assert.Value(m.Add(watchdog(t), &config.Server{Name: "b", Command: "x", Env: map[string]config.Secret{"KEY": managedSecret}}))(t)
	get := func(name string) manage.Server {
		t.Helper()
		return assert.Value(m.Server(t.Context(), name))(t)
	}
	a, b := get("a"), get("b")
	assert.False(t, a.ID == "", "IDs")
	assert.False(t, a.ID == b.ID, "IDs")
	assert.False(t, b.Created.IsZero(), "IDs")
	expectReport(t, "rename", "started [c] stopped [b] replaced [] kept [] failed 0")(m.Update(watchdog(t), b.ID, patch(t, `{"name": "c"}`)))
	c := get(b.ID)
	assert.Equal(t, c.Record.Name, "c")
	assert.True(t, c.Created.Equal(b.Created), "equal")
	assert.False(t, c.Updated.Before(b.Updated), "before")
	expectReport(t, "remove", "started [] stopped [c] replaced [] kept [] failed 0")(m.Remove(watchdog(t), b.ID))
	removed, err := m.Removed(t.Context())
	assert.OK(t, err)
	assert.Equal(t, len(removed), 1, "removed servers")
	assert.Equal(t, removed[0].ID, b.ID)
	assert.False(t, removed[0].Deleted.IsZero(), "no time")
	assert.Lacks(t, fmt.Sprintf("%+v", removed[0].Record.Env["KEY"].Reveal()), managedSecret, "the secret of a removed server")
	assert.Is(t, hosttest.ErrorOf(m.Server(t.Context(), b.ID)), &record.Error{Code: record.CodeNotFound})
	expectReport(t, "restore", "started [c] stopped [] replaced [] kept [] failed 0")(m.Restore(watchdog(t), b.ID))
	assert.Is(t, hosttest.ErrorOf(m.Restore(watchdog(t), b.ID)), &record.Error{Code: record.CodeNotFound})
	assert.Equal(t, names(m.Host()), "a__echo c__echo", "the tools")
	// The next host knows the same IDs, and what another program calls so is left alone.
	m = open(t, path, opts)
	assert.Equal(t, get("c").ID, b.ID, "the ID in the next run")
	assert.Value(m.Update(watchdog(t), a.ID, patch(t, `{"description": "new"}`)))(t)
	assert.Contains(t, string(assert.Value(os.ReadFile(path))(t)), `"id": "theirs"`, "the key of another program")
}

// While a renamed server starts, the former one serves.
func TestRenameLeavesNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starting, goOn := make(chan struct{}), make(chan struct{})
		opts := fakes()
		opts.Host.Transport = func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
				if e.Name == "new" {
					close(starting)
					<-goOn
				}
				return newServer(e.Name).Run(ctx, tr)
			}}, nil
		}
		m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(&config.Server{Name: "old", Command: "x"}), opts))(t)
		defer func() { _ = m.Close() }()
		hosttest.Sleep(time.Second)
		renamed := make(chan error)
		go func() {
			_, err := m.Update(t.Context(), "old", patch(t, `{"name": "new"}`))
			renamed <- err
		}()
		<-starting
		hosttest.Sleep(time.Second)
		assert.Value(call(t, m.Host(), "old__echo", `{"text": "x"}`))(t)
		close(goOn)
		assert.OK(t, <-renamed)
		assert.Equal(t, names(m.Host()), "new__echo", "the tools")
	})
}

// Another name ends no quarantine.
func TestRenameEndsNoQuarantine(t *testing.T) {
	opts := fakes()
	opts.Host.Registry = registry.New(&registry.Options{Ledger: ledger.New(nil)})
	m := openStore(t, record.NewMemoryStore(&config.Server{Name: "a", Command: "x", Quarantined: true}), opts)
	for _, change := range []string{`{"quarantined": false}`, `{"name": "b"}`} {
		assert.Value(m.Update(watchdog(t), "a", patch(t, change)))(t)
		assert.Equal(t, names(m.Host()), "", "after %s: the tools", change)
	}
}
