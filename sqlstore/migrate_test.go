package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

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
		assert.As[*sqlstore.VersionError](t, err)
		assert.Contains(t, err.Error(), "version 1000")
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
		assert.Fails(t, assert.Err(d.Store("sessions").Save(t.Context(), "a", nil, "")), "a table that was left behind")
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
		assert.As[*sqlstore.Error](t, assert.Err(sqlstore.New(db, sqlstore.SQLite, &sqlstore.Options{Prefix: prefix})), "prefix %q", prefix)
	}
	assert.Value(sqlstore.New(db, sqlstore.PostgreSQL, &sqlstore.Options{Prefix: "schema.mcp_"}))(t)
	assert.Fails(t, assert.Err(sqlstore.New(nil, sqlstore.SQLite, nil)), "no database")
	for _, dialect := range []sqlstore.Dialect{0, 3} {
		assert.Contains(t, fmt.Sprint(assert.Err(sqlstore.New(db, dialect, nil))), "PostgreSQL")
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
