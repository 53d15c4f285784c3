package manage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A page that knows a server by its ID lists, reads, changes, removes and restores it.
func TestManageByID(t *testing.T) {
	path := write(t, "a", `{"command": "x", "id": "theirs"}`)
	opts := fakes()
	opts.Host.StateDir = filepath.Join(t.TempDir(), "state")
	m := open(t, path, opts)
	assert.Value(m.Add(watchdog(t), &record.Record{Name: "b", Command: "x", Env: map[string]config.Secret{"KEY": managedSecret}}))(t)
	get := func(name string) manage.Server {
		t.Helper()
		return assert.Value(m.Server(t.Context(), name))(t)
	}
	a, b := get("a"), get("b")
	assert.Equal(t, a.ID == "", false, "IDs")
	assert.Equal(t, a.ID == b.ID, false, "IDs")
	assert.Equal(t, b.Created.IsZero(), false, "IDs")
	report, err := m.Update(watchdog(t), b.ID, patch(t, `{"name": "c", "id": "ignored", "createTime": null}`))
	expectReport(t, "rename", report, err, "started [c] stopped [b] replaced [] kept [] failed 0")
	c := get(b.ID)
	assert.Equal(t, c.Record.Name, "c")
	assert.Equal(t, c.Created.Equal(b.Created), true, "equal")
	assert.Equal(t, c.Updated.Before(b.Updated), false, "before")
	report, err = m.Remove(watchdog(t), b.ID)
	expectReport(t, "remove", report, err, "started [] stopped [c] replaced [] kept [] failed 0")
	removed, err := m.Removed(t.Context())
	if err != nil || len(removed) != 1 || removed[0].ID != b.ID || removed[0].Deleted.IsZero() {
		t.Fatalf("got the removed servers %+v and %v, want the one", removed, err)
	}
	assert.Lacks(t, fmt.Sprintf("%+v", removed[0].Record.Env["KEY"].Reveal()), managedSecret, "the secret of a removed server")
	if _, err := m.Server(t.Context(), b.ID); !isCode(err, record.CodeNotFound) {
		t.Errorf("got %v for a removed server, want %s", err, record.CodeNotFound)
	}
	report, err = m.Restore(watchdog(t), b.ID)
	expectReport(t, "restore", report, err, "started [c] stopped [] replaced [] kept [] failed 0")
	if _, err := m.Restore(watchdog(t), b.ID); !isCode(err, record.CodeNotFound) {
		t.Errorf("got %v of a second undo, want %s", err, record.CodeNotFound)
	}
	assert.Equal(t, names(m.Host()), "a__echo c__echo", "the tools")
	// The next host knows the same IDs, and what another program calls so is left alone.
	m = open(t, path, opts)
	assert.Equal(t, get("c").ID, b.ID, "the ID in the next run")
	data, err := json.Marshal(get("a"))
	assert.OK(t, err)
	assert.Equal(t, strings.Count(string(data), `"id":`), 1)
	assert.Lacks(t, string(data), "theirs")
	assert.Value(m.Update(watchdog(t), a.ID, patch(t, `{"description": "new"}`)))(t)
	if data, err = os.ReadFile(path); err != nil || !strings.Contains(string(data), `"id": "theirs"`) {
		t.Errorf("got the file %s and %v, want that the key of another program stands there", data, err)
	}
}

// A record as JSON has what the columns of MateClaw's table have.
func TestManagedHasTheSeedsFields(t *testing.T) {
	now := time.Now()
	data := assert.Value(json.Marshal([]manage.Server{
		{ID: "~1", Record: &record.Record{Name: "a", Description: "d", Command: "x", Args: []string{"y"}, Env: map[string]config.Secret{"K": "v"},
			Cwd: "/", Builtin: true, ConnectTimeout: time.Second, ReadTimeout: time.Second, Transport: config.TransportStdio},
			Created: now, Updated: now, Deleted: now, Last: record.LastStatus{Status: record.StatusError, Error: "e", Connected: now, Tools: 1}},
		{Record: &record.Record{Name: "b", URL: "https://h/", Headers: map[string]config.Secret{"K": "v"}}},
	}))(t)
	var all []map[string]any
	assert.OK(t, json.Unmarshal(data, &all))
	for column, key := range map[string]string{
		"id": "id", "name": "name", "description": "description", "transport": "transport", "url": "url", "headers_json": "headers",
		"command": "command", "args_json": "args", "env_json": "env", "cwd": "cwd", "enabled": "enabled",
		"connect_timeout_seconds": "connectTimeoutSeconds", "read_timeout_seconds": "readTimeoutSeconds", "last_status": "lastStatus",
		"last_error": "lastError", "last_connected_time": "lastConnected", "tool_count": "toolCount", "builtin": "builtin",
		"create_time": "createTime", "update_time": "updateTime", "deleted": "deleteTime",
	} {
		assert.Equal(t, slices.ContainsFunc(all, func(m map[string]any) bool { return m[key] != nil }), true, "%s of the column %s", key, column)
	}
}

// While a renamed server starts, the former one serves; and what was kept of it stays.
func TestRenameLeavesNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starting, goOn := make(chan struct{}), make(chan struct{})
		kept := hosttest.NewStatuses(nil)
		opts := withStatuses(kept)
		opts.Host.Transport = func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			return &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
				if e.Name == "new" {
					close(starting)
					<-goOn
				}
				return newServer(e.Name).Run(ctx, tr)
			}}, nil
		}
		m := assert.Value(manage.OpenStore(t.Context(), record.NewMemoryStore(&record.Record{Name: "old", Command: "x"}), opts))(t)
		defer func() { _ = m.Close() }()
		time.Sleep(time.Second)
		synctest.Wait()
		renamed := make(chan error)
		go func() {
			_, err := m.Update(t.Context(), "old", patch(t, `{"name": "new"}`))
			renamed <- err
		}()
		<-starting
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Value(call(t, m.Host(), "old__echo", `{"text": "x"}`))(t)
		got := kept.At("new")
		assert.Equal(t, got.Tools, 1, "kept status")
		assert.Equal(t, got.Connected.IsZero(), false, "kept status")
		close(goOn)
		assert.OK(t, <-renamed)
		assert.Equal(t, names(m.Host()), "new__echo", "the tools")
	})
}

// Another name ends no quarantine.
func TestRenameEndsNoQuarantine(t *testing.T) {
	opts := fakes()
	opts.Host.Registry = registry.New(&registry.Options{Ledger: ledger.New(nil)})
	m := openStore(t, record.NewMemoryStore(&record.Record{Name: "a", Command: "x", Quarantined: true}), opts)
	for _, change := range []string{`{"quarantined": false}`, `{"name": "b"}`} {
		assert.Value(m.Update(watchdog(t), "a", patch(t, change)))(t)
		assert.Equal(t, names(m.Host()), "", "after %s: the tools", change)
	}
}
