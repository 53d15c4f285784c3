//go:build integration

package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// places adds a PostgreSQL server: that of SQLSTORE_POSTGRES, a URL, or one that is
// started for the test from the programs initdb and postgres.
func places(t *testing.T) []place {
	dsn := os.Getenv("SQLSTORE_POSTGRES")
	if dsn == "" {
		dsn = startPostgres(t)
	}
	var tables atomic.Int64
	return []place{sqlitePlace(), {"PostgreSQL", sqlstore.PostgreSQL, func(t testing.TB) (*sql.DB, string, func(testing.TB) *sql.DB) {
		db := openPostgres(t, dsn)
		prefix := fmt.Sprintf("t%x_%d_", time.Now().UnixNano(), tables.Add(1))
		t.Cleanup(func() {
			for _, table := range []string{"version", "records", "activity"} {
				if _, err := db.ExecContext(context.Background(), "DROP TABLE IF EXISTS "+prefix+table); err != nil {
					t.Error(err)
				}
			}
		})
		return db, prefix, func(t testing.TB) *sql.DB { return openPostgres(t, dsn) }
	}}}
}

func openPostgres(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// program finds a program of PostgreSQL, which distributions keep out of PATH.
func program(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		t.Fatalf("there is no %s: install PostgreSQL, or set SQLSTORE_POSTGRES to the URL of a server", name)
	}
	return found[len(found)-1]
}

// startPostgres starts a server in a folder of its own, that listens on a socket in
// that folder, and returns its URL.
func startPostgres(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	as := unprivileged(t, dir)
	initialize := exec.Command(program(t, "initdb"), "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	as(initialize)
	if out, err := initialize.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	var log bytes.Buffer
	server := exec.Command(program(t, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=")
	server.Stderr = &log
	as(server)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt) // ends connections and stops
		_ = server.Wait()
		if t.Failed() {
			t.Logf("PostgreSQL said:\n%s", log.String())
		}
	})
	dsn := "postgres:///postgres?" + url.Values{"host": {dir}, "user": {"test"}}.Encode()
	db := openPostgres(t, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return dsn
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "connect") && !strings.Contains(err.Error(), "starting up") {
			t.Fatal(err)
		}
		select { // it says nowhere that it is ready but here
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
