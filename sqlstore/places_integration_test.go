//go:build integration

package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// places adds a PostgreSQL server: that of SQLSTORE_POSTGRES, a URL, or one that is
// started for the test from the programs initdb and postgres.
func places(t *testing.T) []place {
	dsn := os.Getenv("SQLSTORE_POSTGRES")
	if dsn == "" {
		dsn = pgtest.New(t).URL
	}
	libpq := postgresPlaceBy("postgres", dsn)
	libpq.name, libpq.wait = "PostgreSQL by lib/pq", nil
	return []place{sqlitePlace(), postgresPlace(dsn), libpq}
}

// postgresPlace returns the server at a URL, by pgx.
func postgresPlace(dsn string) place { return postgresPlaceBy("pgx", dsn) }

// postgresPlaceBy returns the server at a URL, by a driver.
func postgresPlaceBy(driver, dsn string) place {
	var tables atomic.Int64
	return place{"PostgreSQL", sqlstore.PostgreSQL, dsn, func(t testing.TB) (*sql.DB, string, func(testing.TB) *sql.DB) {
		db := openPostgresBy(t, driver, dsn)
		prefix := fmt.Sprintf("t%x_%d_", time.Now().UnixNano(), tables.Add(1))
		t.Cleanup(func() { dropTables(t, db, prefix) })
		return db, prefix, func(t testing.TB) *sql.DB { return openPostgresBy(t, driver, dsn) }
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

func openPostgres(t testing.TB, dsn string) *sql.DB { return openPostgresBy(t, "pgx", dsn) }

func openPostgresBy(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db := assert.Value(sql.Open(driver, dsn))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// awaitServer waits until a server answers.
func awaitServer(t testing.TB, dsn string) {
	t.Helper()
	db := openPostgres(t, dsn)
	until(t, "an answer of the server", func() bool { return db.PingContext(t.Context()) == nil })
}
