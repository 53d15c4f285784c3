package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A recorder is a driver.Connector that notes the statements that a driver is given.
type recorder struct {
	driver driver.Driver
	dsn    string

	mu   sync.Mutex
	seen map[string][]any // the first arguments of each
}

func (r *recorder) Driver() driver.Driver { return r.driver }

func (r *recorder) Connect(context.Context) (driver.Conn, error) {
	c, err := r.driver.Open(r.dsn)
	return recordedConn{c, r}, err
}

func (r *recorder) note(query string, args []driver.NamedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[query] == nil {
		r.seen[query] = []any{}
		for _, a := range args {
			r.seen[query] = append(r.seen[query], a.Value)
		}
	}
}

type recordedConn struct {
	driver.Conn
	r *recorder
}

func (c recordedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.r.note(query, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.r.note(query, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// useAll calls everything that a Database offers.
func useAll(t *testing.T, d *sqlstore.Database) {
	t.Helper()
	ctx := t.Context()
	s := d.Store("n")
	must := func(err error) { t.Helper(); assert.OK(t, err) }
	at, err := s.Save(ctx, "a", nil, "")
	must(err)
	at, err = s.Save(ctx, "a", nil, at)
	must(err)
	_, err = s.Load(ctx, "a", at)
	must(err)
	for _, err := range s.Names(ctx, "a") {
		must(err)
	}
	for _, err := range s.(storage.Watcher).Watch(ctx, "a") {
		must(err)
		break
	}
	must(s.Delete(ctx, "a", at))
	_ = s.Delete(ctx, "a", at) // is gone
	number, err := s.(storage.Leaser).TakeLease(ctx, "a", time.Minute)
	must(err)
	must(s.(storage.Leaser).RenewLease(ctx, "a", number, time.Minute))
	a := d.Activity(&sqlstore.ActivityOptions{KeepAge: time.Hour, KeepEvents: 1})
	must(a.Write(ctx, someEvents(3)))
	now := time.Now()
	for _, f := range []*activity.Filter{
		nil, {Since: now}, {Until: now}, {ID: "x"}, {Parent: "x"}, {User: "x"}, {Server: "x"}, {Tool: "x"},
		{Kinds: []string{"call"}}, {Outcomes: []string{"ok"}},
	} {
		for _, err := range a.Events(ctx, f) {
			must(err)
		}
	}
}

// Every statement but those about the version finds its rows by an index.
func TestIndexes(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, _ := p.fresh(t)
		r := &recorder{driver: db.Driver(), dsn: p.dsn, seen: map[string][]any{}}
		if p.dialect == sqlstore.SQLite {
			path := filepath.Join(t.TempDir(), "agent.db")
			db, r.dsn = openSQLite(t, path), "file:"+filepath.ToSlash(path)
		}
		o := &sqlstore.Options{Prefix: prefix}
		assert.OK(t, mustNew(t, db, p.dialect, o).Migrate(t.Context()))
		recorded := sql.OpenDB(r)
		t.Cleanup(func() { _ = recorded.Close() })
		useAll(t, mustNew(t, recorded, p.dialect, o))
		conn := assert.Value(db.Conn(t.Context()))(t)
		defer conn.Close()
		explain := "EXPLAIN QUERY PLAN "
		if p.dialect == sqlstore.PostgreSQL {
			explain = "EXPLAIN "
			assert.Value(conn.ExecContext(t.Context(), "SET enable_seqscan = off"))(t) // the tables are small
		}
		assert.True(t, len(r.seen) >= 20, "%d statements are all", len(r.seen))
		for _, query := range slices.Sorted(maps.Keys(r.seen)) {
			plan := planOf(t, conn, explain+query, r.seen[query])
			assert.True(t, isIndexed(plan, query), "%s\nhas an index:\n%s", query, plan)
		}
	})
}

// isIndexed reports whether a plan reads no large table from one end to the other. SQLite
// calls it a scan, too, if it reads the newest events first and stops.
func isIndexed(plan, query string) bool {
	newest := strings.Contains(query, "ORDER BY seq") && strings.Contains(query, "LIMIT")
	for line := range strings.Lines(plan) {
		isScan := strings.HasPrefix(line, "SCAN ") && !strings.Contains(line, "INDEX") && !strings.Contains(line, "VALUES")
		if strings.Contains(line, "Seq Scan") || isScan && !newest {
			return false
		}
	}
	return true
}

func planOf(t *testing.T, conn *sql.Conn, query string, args []any) string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), query, args...)
	assert.OK(t, err, "%s", query)
	defer rows.Close()
	columns, _ := rows.Columns()
	var plan strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		assert.OK(t, rows.Scan(values...))
		fmt.Fprintln(&plan, *values[len(values)-1].(*any))
	}
	return plan.String()
}
