package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
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
			wg.Go(func() { assert.OK(t, d.Migrate(t.Context())) })
		}
		wg.Wait()
		assert.Value(all[0].Store("sessions").Save(t.Context(), "a", nil, ""))(t)
		assert.OK(t, all[1].Migrate(t.Context()))
		wantRecord(t, all[1].Store("sessions"), "a", "")
	})
}

// Tables of a later release are left alone.
func TestNewerTables(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		d, db, prefix := p.migrated(t)
		assert.Value(db.Exec("UPDATE " + prefix + "version SET version = 1000"))(t)
		err := d.Migrate(t.Context())
		version := assert.As[*sqlstore.VersionError](t, err)
		assert.Equal(t, version.Found, 1000, "version that was found")
		assert.True(t, version.Known >= 1, "a version is known")
		assert.Contains(t, err.Error(), "newer release")
	})
}

// A migration that fails leaves nothing behind.
func TestMigrateIsAllOrNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix := p.freshPrefix(t)
		d := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix})
		assert.Value(db.Exec("CREATE TABLE " + prefix + "activity (id INTEGER)"))(t) // of another program
		assert.Contains(t, fmt.Sprint(d.Migrate(t.Context())), "make the tables")
		_, err := d.Store("sessions").Save(t.Context(), "a", nil, "")
		assert.Fails(t, err, "a table that was left behind")
		assert.Value(db.Exec("DROP TABLE " + prefix + "activity"))(t)
		assert.OK(t, d.Migrate(t.Context()), "Migrate after the cure")
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
			assert.Value(d.Store("sessions").Save(t.Context(), "n", nil, ""))(t)
		}
	})
}

func dropTables(t testing.TB, db *sql.DB, prefixes ...string) {
	for _, prefix := range prefixes {
		for _, table := range []string{"version", "records", "leases", "activity"} {
			assert.Value(db.ExecContext(context.Background(), "DROP TABLE IF EXISTS "+prefix+table))(t)
		}
	}
}

func TestBadOptions(t *testing.T) {
	db := openSQLite(t, t.TempDir()+"/x.db")
	for _, prefix := range []string{"a b", `a"`, "A", "1", "a.b", "é", "a;", strings.Repeat("a", 33), "a.b.c", "."} {
		_, err := sqlstore.New(db, sqlstore.SQLite, &sqlstore.Options{Prefix: prefix})
		assert.As[*sqlstore.Error](t, err, "prefix %q", prefix)
	}
	assert.Value(sqlstore.New(db, sqlstore.PostgreSQL, &sqlstore.Options{Prefix: "schema.mcp_"}))(t)
	_, err := sqlstore.New(nil, sqlstore.SQLite, nil)
	assert.Fails(t, err, "no database")
	for _, dialect := range []sqlstore.Dialect{0, 3} {
		_, err := sqlstore.New(db, dialect, nil)
		assert.Contains(t, fmt.Sprint(err), "PostgreSQL")
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
			assert.Contains(t, assert.As[*sqlstore.Error](t, call(t.Context()), what).Error(), what, "without tables")
			assert.Is(t, assert.As[*sqlstore.Error](t, call(ended()), what), context.Canceled, what)
		}
		assert.Is(t, d.Migrate(ended()), context.Canceled, "Migrate after the end")
	})
}

// What earlier releases have kept is kept on.
func TestMigrateEarlierVersions(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, version := range []int{1, 2} {
			db, prefix := p.freshPrefix(t)
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
				r := wantRecord(t, d.Store(want.namespace), want.name, want.data)
				assert.Equal(t, string(r.Revision), want.revision, "version %d: revision of %s", version, want.name)
			}
			checkMigratedServers(t, d, version)
			var left int
			assert.Fails(t, db.QueryRow("SELECT COUNT(*) FROM "+prefix+"sessions").Scan(&left), "version %d: the table of sessions", version)
		}
	})
}

func checkMigratedServers(t *testing.T, d *sqlstore.Database, version int) {
	t.Helper()
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store := record.NewStore(d.Store("c"), "servers")
	all := assert.Value(store.Records(t.Context()))(t)
	if len(all) != 1 {
		t.Fatalf("version %d: got %v, want one record", version, all)
	}
	before := all[0]
	assert.Equal(t, fmt.Sprint(before.ID, " ", before.Revision, " ", before.Record.Command), "~1 r x", "version %d: record", version)
	deleted := assert.Value(store.Deleted(t.Context()))(t)
	if version == 1 {
		assert.Equal(t, before.Created, time.Time{}, "time of creation")
	} else {
		assert.Equal(t, before.Created.UTC(), made, "time of creation")
		assert.Equal(t, before.Updated.UTC(), made.Add(time.Second), "time of the update")
		assert.Equal(t, len(deleted), 1, "deleted records")
		assert.Equal(t, deleted[0].Record.Name+" "+deleted[0].Record.Env["KEY"].Reveal(), "gone <s>", "deleted record")
		assert.Equal(t, deleted[0].Deleted.UTC(), made.Add(2*time.Second), "time of the deletion")
	}
	assert.Value(record.Remove(t.Context(), store, before.ID))(t)
	assert.Equal(t, assert.Value(record.Restore(t.Context(), store, before.ID))(t).ID, before.ID, "version %d: ID of the restored record", version)
	other := assert.Value(record.Find(t.Context(), record.NewStore(d.Store("d"), "servers"), "a"))(t)
	assert.Equal(t, other.Record.Command, "y", "version %d: command in the other catalogue", version)
	statuses := assert.Value(record.NewStatuses(d.Store("c"), "statuses").Statuses(t.Context()))(t)
	assert.Equal(t, fmt.Sprint(statuses), fmt.Sprint(map[string]record.LastStatus{
		"a": {Status: record.StatusConnected, Connected: made, Tools: 3},
		"b": {Status: record.StatusError, Error: "it is gone"},
	}), "version %d: statuses", version)
}
