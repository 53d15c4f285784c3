package database_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// newEnv returns an environment with folders of its own.
func newEnv(t *testing.T) *cli.Env {
	return &cli.Env{Dir: t.TempDir(), StateDir: t.TempDir(), Lookup: func(string) (string, bool) { return "", false }}
}

// checkUnusable tests that an error is one of a database, and says something.
func checkUnusable(t *testing.T, err error, says string) {
	t.Helper()
	e, ok := errors.AsType[*cli.Error](err)
	if !ok || e.Exit != cli.DatabaseUnusable {
		t.Fatalf("got %v, want an error with the exit %d", err, cli.DatabaseUnusable)
	}
	assert.Contains(t, e.Error(), says)
}

// exec opens the file of an environment and runs a statement on a connection that stays open.
func exec(t *testing.T, env *cli.Env, statement string) {
	t.Helper()
	pool := assert.Value(sql.Open("sqlite", filepath.Join(env.StateDir, "serve.db")))(t)
	t.Cleanup(func() { _ = pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), statement)
	}
	assert.OK(t, err)
	t.Cleanup(func() { _ = conn.Close() })
}

func TestOpenNewer(t *testing.T) {
	env := newEnv(t)
	d, err := database.Open(t.Context(), env, database.Default, "")
	assert.OK(t, err)
	assert.OK(t, d.Close())
	exec(t, env, "UPDATE mcpbelt_version SET version = 1000")
	_, err = database.Open(t.Context(), env, database.Default, "")
	checkUnusable(t, err, "use a newer release")
	if _, ok := errors.AsType[*sqlstore.VersionError](err); !ok {
		t.Errorf("got %v, want a *sqlstore.VersionError", err)
	}
}

func TestOpenLocked(t *testing.T) {
	env := newEnv(t)
	exec(t, env, "BEGIN EXCLUSIVE")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := database.Open(ctx, env, database.Default, "")
	checkUnusable(t, err, "what has locked it")
}

// What begins like the URL of a database is told from one with a password in it nowhere.
func TestOpenShowsNoPassword(t *testing.T) {
	for _, url := range []string{
		"postgres://u:canary@127.0.0.1:1/x?sslmode=disable", "postgresql://127.0.0.1:1/x?user=u&password=canary&sslmode=disable",
		"postgres://u:canary@127.0.0.1:port/x", "postgres://u:canary@[::1/x", "postgres://u:ca%zznary@host/x", "postgres:u:canary@host", "mysql://u:canary@host/x",
		"postgres://u:canary@127.0.0.1:1/x?sslmode=none", "postgres://u:canary@127.0.0.1:1/x?connect_timeout=canary",
	} {
		_, err := database.Open(t.Context(), newEnv(t), url, "")
		if err == nil {
			t.Fatal("got no error")
		}
		if e, ok := errors.AsType[*cli.Error](err); !ok || e.Exit != cli.Usage && e.Exit != cli.DatabaseUnusable {
			t.Errorf("got %v, want the exit %d or %d", err, cli.Usage, cli.DatabaseUnusable)
		}
		if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "nary@") {
			t.Errorf("got %q, want no password", err)
		}
	}
}

func TestOpenWithoutStateFolder(t *testing.T) {
	env := newEnv(t)
	env.StateDir = ""
	if _, err := database.Open(t.Context(), env, database.Default, ""); err == nil || !strings.Contains(err.Error(), "sqlite:PATH") {
		t.Errorf("got %v, want an error with the cure", err)
	}
	d := assert.Value(database.Open(t.Context(), env, "sqlite:own.db", ""))(t)
	defer d.Close()
	if _, err := d.Servers(t.Context()); err == nil || !strings.Contains(err.Error(), "--database-key-file") {
		t.Errorf("without a key: got %v, want an error with the cure", err)
	}
}
