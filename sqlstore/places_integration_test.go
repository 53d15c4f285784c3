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

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// places adds a PostgreSQL server: that of SQLSTORE_POSTGRES, a URL, or one that is
// started for the test from the programs initdb and postgres.
func places(t *testing.T) []place {
	dsn := os.Getenv("SQLSTORE_POSTGRES")
	if dsn == "" {
		dsn = startPostgres(t).dsn
	}
	return []place{sqlitePlace(), postgresPlace(dsn)}
}

// postgresPlace returns the server at a URL.
func postgresPlace(dsn string) place {
	var tables atomic.Int64
	return place{"PostgreSQL", sqlstore.PostgreSQL, dsn, func(t testing.TB) (*sql.DB, string, func(testing.TB) *sql.DB) {
		db := openPostgres(t, dsn)
		prefix := fmt.Sprintf("t%x_%d_", time.Now().UnixNano(), tables.Add(1))
		t.Cleanup(func() {
			for _, table := range []string{"version", "records", "leases", "activity"} {
				if _, err := db.ExecContext(context.Background(), "DROP TABLE IF EXISTS "+prefix+table); err != nil {
					t.Error(err)
				}
			}
		})
		return db, prefix, func(t testing.TB) *sql.DB { return openPostgres(t, dsn) }
	}, waitForNotification}
}

// waitForNotification is what a program with pgx has in its options.
func waitForNotification(ctx context.Context, driverConn any) (payload string, err error) {
	n, err := driverConn.(*stdlib.Conn).Conn().WaitForNotification(ctx)
	if err != nil {
		return "", err
	}
	return n.Payload, nil
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

// A postgres is a server that was started for a test, in a folder of its own.
type postgres struct {
	dir, dsn string
	as       func(*exec.Cmd)
	process  *exec.Cmd // nil: it is stopped
	log      bytes.Buffer
}

// startPostgres starts a server that listens on a socket in its folder.
func startPostgres(t testing.TB) *postgres {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &postgres{dir: dir, as: unprivileged(t, dir), dsn: "postgres:///postgres?" + url.Values{"host": {dir}, "user": {"test"}}.Encode()}
	initialize := exec.Command(program(t, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	p.as(initialize)
	if out, err := initialize.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("PostgreSQL said:\n%s", p.log.String())
		}
	})
	p.start(t)
	return p
}

// start starts the server, and waits until it answers.
func (p *postgres) start(t testing.TB) {
	t.Helper()
	p.process = exec.Command(program(t, "postgres"), "-D", filepath.Join(p.dir, "data"), "-k", p.dir, "-c", "listen_addresses=",
		"-c", "fsync=off") // no test cuts the power
	p.process.Stderr = &p.log
	p.as(p.process)
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	awaitServer(t, p.dsn)
}

// stop ends all connections, and the server.
func (p *postgres) stop() {
	if p.process != nil {
		_ = p.process.Process.Signal(os.Interrupt)
		_ = p.process.Wait()
		p.process = nil
	}
}

// awaitServer waits until a server answers.
func awaitServer(t testing.TB, dsn string) {
	t.Helper()
	db := openPostgres(t, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return
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
