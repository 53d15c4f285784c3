package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// Many make the tables at once, on several connections, and again afterwards.
func TestMigrateAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, again := p.fresh(t)
		o := &sqlstore.Options{Prefix: prefix}
		var all []*sqlstore.Database
		for range 3 {
			all = append(all, mustNew(t, db, p.dialect, o), mustNew(t, again(t), p.dialect, o))
		}
		var wg sync.WaitGroup
		for _, d := range all {
			wg.Go(func() {
				if err := d.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		assert.Value(all[0].Store("sessions").Save(t.Context(), "a", nil, ""))(t)
		if err := all[1].Migrate(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := all[1].Store("sessions").Load(t.Context(), "a", ""); err != nil {
			t.Errorf("what was kept is gone: %v", err)
		}
	})
}

// Tables of a later release are left alone.
func TestNewerTables(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, _ := p.fresh(t)
		if prefix == "" {
			prefix = "mcpbelt_"
		}
		d := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix})
		assert.OK(t, d.Migrate(t.Context()))
		assert.Value(db.Exec("UPDATE " + prefix + "version SET version = 1000"))(t)
		err := d.Migrate(t.Context())
		var version *sqlstore.VersionError
		if !errors.As(err, &version) || version.Found != 1000 || version.Known < 1 || !strings.Contains(err.Error(), "newer release") {
			t.Errorf("Migrate: %v", err)
		}
	})
}

// A migration that fails leaves nothing behind.
func TestMigrateIsAllOrNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, _ := p.fresh(t)
		if prefix == "" {
			prefix = "mcpbelt_"
		}
		d := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix})
		if _, err := db.Exec("CREATE TABLE " + prefix + "activity (id INTEGER)"); err != nil { // somebody else's
			t.Fatal(err)
		}
		if err := d.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "make the tables") {
			t.Errorf("Migrate: %v", err)
		}
		if _, err := d.Store("sessions").Save(t.Context(), "a", nil, ""); err == nil {
			t.Error("a table was left behind")
		}
		assert.Value(db.Exec("DROP TABLE " + prefix + "activity"))(t)
		if err := d.Migrate(t.Context()); err != nil {
			t.Errorf("Migrate after the cure: %v", err)
		}
	})
}

// Two prefixes are two databases.
func TestPrefixes(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, _ := p.fresh(t)
		one := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix + "a_"})
		two := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix + "b_"})
		for _, d := range []*sqlstore.Database{one, two} {
			assert.OK(t, d.Migrate(t.Context()))
			t.Cleanup(func() { dropTables(t, db, prefix+"a_", prefix+"b_") })
			if _, err := d.Store("sessions").Save(t.Context(), "n", nil, ""); err != nil {
				t.Error(err)
			}
		}
	})
}

func dropTables(t *testing.T, db *sql.DB, prefixes ...string) {
	for _, prefix := range prefixes {
		for _, table := range []string{"version", "records", "leases", "activity"} {
			if _, err := db.ExecContext(context.Background(), "DROP TABLE IF EXISTS "+prefix+table); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestBadOptions(t *testing.T) {
	db := openSQLite(t, t.TempDir()+"/x.db")
	for _, prefix := range []string{"a b", `a"`, "A", "1", "a.b", "é", "a;", strings.Repeat("a", 33), "a.b.c", "."} {
		_, err := sqlstore.New(db, sqlstore.SQLite, &sqlstore.Options{Prefix: prefix})
		var wrong *sqlstore.Error
		if !errors.As(err, &wrong) {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
	if _, err := sqlstore.New(db, sqlstore.PostgreSQL, &sqlstore.Options{Prefix: "schema.mcp_"}); err != nil {
		t.Error(err)
	}
	if _, err := sqlstore.New(nil, sqlstore.SQLite, nil); err == nil {
		t.Error("no database, and no error")
	}
	for _, dialect := range []sqlstore.Dialect{0, 3} {
		if _, err := sqlstore.New(db, dialect, nil); err == nil || !strings.Contains(err.Error(), "PostgreSQL") {
			t.Errorf("%v: %v", dialect, err)
		}
	}
}

// Without tables, and after the context has ended, everything fails and says what.
func TestErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, _ := p.fresh(t)
		d := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix})
		calls := map[string]func(context.Context) error{
			"load a record":   func(ctx context.Context) error { _, err := d.Store("sessions").Load(ctx, "a", ""); return err },
			"save a record":   func(ctx context.Context) error { _, err := d.Store("sessions").Save(ctx, "a", nil, ""); return err },
			"delete a record": func(ctx context.Context) error { return d.Store("sessions").Delete(ctx, "a", "x") },
			"write events":    func(ctx context.Context) error { return d.Activity(nil).Write(ctx, someEvents(1)) },
			"read events":     func(ctx context.Context) error { return lastError(d.Activity(nil), ctx) },
			"delete old":      func(ctx context.Context) error { _, err := d.Activity(nil).Prune(ctx, 1, 0); return err },
			"list the": func(ctx context.Context) (err error) {
				for _, err = range d.Store("sessions").Names(ctx, "") {
					break
				}
				return err
			},
		}
		for what, call := range calls {
			var wrong *sqlstore.Error
			if err := call(t.Context()); !errors.As(err, &wrong) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s without tables: %v", what, err)
			}
			if err := call(ended()); !errors.As(err, &wrong) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s after the end: %v", what, err)
			}
		}
		if err := d.Migrate(ended()); !errors.Is(err, context.Canceled) {
			t.Errorf("Migrate after the end: %v", err)
		}
	})
}

// What earlier releases have kept is kept on.
func TestMigrateEarlierVersions(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, version := range []int{1, 2} {
			db, prefix, _ := p.fresh(t)
			if prefix == "" {
				prefix = "mcpbelt_"
			}
			d := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix})
			assert.OK(t, sqlstore.MigrateTo(t.Context(), d, version))
			for _, query := range []string{
				"INSERT INTO " + prefix + `sessions (name, data, revision) VALUES ('store.keys', 'k', 'r1'), ('ann.github', 'sealed', 'r2')`,
				"INSERT INTO " + prefix + `documents (kind, name, data, revision) VALUES ('ledger', 'agent A', 'l', 'r3'), ('consent', 'agent A', 'c', 'r4')`,
				"INSERT INTO " + prefix + `servers (catalogue, name, data, revision) VALUES ('c', 'a', '{"name":"a","command":"x"}', 'r'), ('d', 'a', '{"name":"a","command":"y"}', 'r')`,
				"INSERT INTO " + prefix + `statuses (catalogue, name, status, error, connected_ns, tools) VALUES ('c', 'a', 'connected', '', 1767225600000000000, 3), ('c', 'b', 'error', 'it is gone', 0, 0)`,
			} {
				assert.Value(db.Exec(query))(t)
			}
			if version == 2 {
				for _, query := range []string{
					"UPDATE " + prefix + `servers SET created_ns = 1767225600000000000, updated_ns = 1767225601000000000`,
					"INSERT INTO " + prefix + `servers (catalogue, name, data, revision, deleted_ns) VALUES ('c', 'x', '{"name":"gone","command":"z","env":{"KEY":"<s>"}}', 'r', 1767225602000000000)`,
				} {
					assert.Value(db.Exec(query))(t)
				}
			}
			assert.OK(t, d.Migrate(t.Context()))
			for _, want := range []struct{ namespace, name, data, revision string }{
				{"sessions", "store.keys", "k", "r1"},
				{"sessions", "ann.github", "sealed", "r2"},
				{"agent A", "ledger", "l", "r3"},
				{"agent A", "consents", "c", "r4"},
			} {
				r, err := d.Store(want.namespace).Load(t.Context(), want.name, "")
				if err != nil || string(r.Data) != want.data || string(r.Revision) != want.revision {
					t.Errorf("version %d: got %s, %q, %v, want %v", version, r.Data, r.Revision, err, want)
				}
			}
			checkMigratedServers(t, d, version)
			var left int
			assert.Fails(t, db.QueryRow("SELECT COUNT(*) FROM "+prefix+"sessions").Scan(&left), "version %d: got a table of sessions, want none", version)
		}
	})
}

func checkMigratedServers(t *testing.T, d *sqlstore.Database, version int) {
	t.Helper()
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store := record.NewStore(d.Store("c"), "servers")
	all, err := store.Records(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("version %d: got %v, %v, want one record", version, all, err)
	}
	before := all[0]
	if before.ID != "~1" || before.Revision != "r" || before.Record.Command != "x" {
		t.Errorf("version %d: got %+v, want that of the ID ~1", version, before)
	}
	deleted := assert.Value(store.Deleted(t.Context()))(t)
	switch version {
	case 1:
		if !before.Created.IsZero() {
			t.Errorf("got the time %v, want none", before.Created)
		}
	case 2:
		if !before.Created.Equal(made) || !before.Updated.Equal(made.Add(time.Second)) {
			t.Errorf("got the times %v and %v, want %v and a second later", before.Created, before.Updated, made)
		}
		if len(deleted) != 1 || deleted[0].Record.Name != "gone" || deleted[0].Record.Env["KEY"].Reveal() != "<s>" || !deleted[0].Deleted.Equal(made.Add(2*time.Second)) {
			t.Errorf("got the deleted records %+v, want the one that was deleted", deleted)
		}
	}
	assert.Value(record.Remove(t.Context(), store, before.ID))(t)
	if after, err := record.Restore(t.Context(), store, before.ID); err != nil || after.ID != before.ID {
		t.Errorf("version %d: got the restored record %+v and %v, want that of the ID %q", version, after, err, before.ID)
	}
	if other, err := record.Find(t.Context(), record.NewStore(d.Store("d"), "servers"), "a"); err != nil || other.Record.Command != "y" {
		t.Errorf("version %d: got %v, %v, want the server of the other catalogue", version, other, err)
	}
	statuses, err := record.NewStatuses(d.Store("c"), "statuses").Statuses(t.Context())
	want := map[string]record.LastStatus{
		"a": {Status: record.StatusConnected, Connected: made, Tools: 3},
		"b": {Status: record.StatusError, Error: "it is gone"},
	}
	if err != nil || !maps.Equal(statuses, want) {
		t.Errorf("version %d: got the statuses %v, %v, want %v", version, statuses, err, want)
	}
}
