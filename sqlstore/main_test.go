package sqlstore_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
)

func TestMain(m *testing.M) {
	for name, run := range children {
		if value := os.Getenv(name); value != "" {
			run(value)
			return
		}
	}
	goleak.VerifyTestMain(m)
}

// children are what the test program is as another process, by the variable that makes it one.
var children = map[string]func(value string){childPath: countUp}

// A place is somewhere for databases of one dialect.
type place struct {
	name    string
	dialect sqlstore.Dialect
	dsn     string // empty: each fresh one has its own
	// fresh returns a connection pool for tables that nobody else uses, and their
	// prefix. Again returns another pool for the same, as another process has it.
	fresh func(t testing.TB) (db *sql.DB, prefix string, again func(t testing.TB) *sql.DB)
	wait  func(ctx context.Context, driverConn any) (string, error) // nil: there are no notifications
}

// openSQLite opens a database in a file.
func openSQLite(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)") // no test cuts the power
	assert.OK(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func sqlitePlace() place {
	return place{"SQLite", sqlstore.SQLite, "", func(t testing.TB) (*sql.DB, string, func(testing.TB) *sql.DB) {
		path := filepath.Join(t.TempDir(), "agent.db")
		return openSQLite(t, path), "", func(t testing.TB) *sql.DB { return openSQLite(t, path) }
	}, nil}
}

// everywhere runs a test in every place there is.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) { test(t, p) })
	}
}

// freshPrefix returns a connection pool for tables that no other test uses, and their prefix, which is never empty.
func (p place) freshPrefix(t testing.TB) (db *sql.DB, prefix string) {
	t.Helper()
	db, prefix, _ = p.fresh(t)
	return db, cmp.Or(prefix, "mcpbelt_")
}

// migrated returns a database with tables that no other test uses, their pool and prefix.
func (p place) migrated(t testing.TB) (d *sqlstore.Database, db *sql.DB, prefix string) {
	t.Helper()
	db, prefix = p.freshPrefix(t)
	d = mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix})
	assert.OK(t, d.Migrate(t.Context()))
	return d, db, prefix
}

// wantRecord loads a record and checks its data.
func wantRecord(t *testing.T, s storage.Store, name, data string) storage.Record {
	t.Helper()
	r := assert.Value(s.Load(t.Context(), name, ""))(t)
	assert.Equal(t, string(r.Data), data, "record %q", name)
	return r
}

// A twin is a database, and the same one as another process has it.
type twin struct{ one, two *sqlstore.Database }

// open returns a database with its tables, and its twin.
func (p place) open(t testing.TB) twin {
	t.Helper()
	db, prefix, again := p.fresh(t)
	o := &sqlstore.Options{Prefix: prefix, WaitForNotification: p.wait}
	one, two := mustNew(t, db, p.dialect, o), mustNew(t, again(t), p.dialect, o)
	assert.OK(t, one.Migrate(t.Context()))
	return twin{one, two}
}

func mustNew(t testing.TB, db *sql.DB, dialect sqlstore.Dialect, o *sqlstore.Options) *sqlstore.Database {
	t.Helper()
	return sqlstore.Patient(assert.Value(sqlstore.New(db, dialect, o))(t))
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

const (
	childPath = "SQLSTORE_TEST_CHILD"
	childRuns = 20
)

// countUp is another process: it makes the tables, and counts up one session.
func countUp(path string) {
	ctx := context.Background()
	err := func() error {
		db, err := sql.Open("sqlite", "file:"+path) // it waits for nothing by itself
		if err != nil {
			return err
		}
		defer db.Close()
		d, err := sqlstore.New(db, sqlstore.SQLite, nil)
		if err != nil {
			return err
		}
		if err := sqlstore.Patient(d).Migrate(ctx); err != nil {
			return err
		}
		return count(ctx, d.Store("sessions"), childRuns)
	}()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
