package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEnv returns an environment with folders of its own.
func newEnv(t *testing.T) *cli.Env {
	return &cli.Env{Dir: t.TempDir(), StateDir: t.TempDir(), Lookup: func(string) (string, bool) { return "", false }}
}

// checkUnusable tests that an error is one of a database, and says something.
func checkUnusable(t *testing.T, err error, says string) {
	t.Helper()
	e, ok := errors.AsType[*cli.Error](err)
	assert.True(t, ok, "%v", err)
	assert.Equal(t, e.Exit, cli.DatabaseUnusable, "%v", err)
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
	_, ok := errors.AsType[*sqlstore.VersionError](err)
	assert.True(t, ok, "%v", err)
}

func TestOpenLocked(t *testing.T) {
	env := newEnv(t)
	exec(t, env, "BEGIN EXCLUSIVE")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // which is what the user waits
	defer cancel()
	checkUnusable(t, assert.Err(database.Open(ctx, env, database.Default, "")), "what has locked it")
}

// What begins like the URL of a database is told from one with a password in it nowhere.
func TestOpenShowsNoPassword(t *testing.T) {
	for _, url := range []string{
		"postgres://u:canary@127.0.0.1:1/x?sslmode=disable", "postgresql://127.0.0.1:1/x?user=u&password=canary&sslmode=disable",
		"postgres://u:canary@127.0.0.1:port/x", "postgres://u:canary@[::1/x", "postgres://u:ca%zznary@host/x", "postgres:u:canary@host", "mysql://u:canary@host/x",
		"postgres://u:canary@127.0.0.1:1/x?sslmode=none", "postgres://u:canary@127.0.0.1:1/x?connect_timeout=canary",
	} {
		_, err := database.Open(t.Context(), newEnv(t), url, "")
		assert.Fails(t, err)
		if e, ok := errors.AsType[*cli.Error](err); !ok || e.Exit != cli.Usage && e.Exit != cli.DatabaseUnusable {
			t.Errorf("got %v, want the exit %d or %d", err, cli.Usage, cli.DatabaseUnusable)
		}
		assert.Lacks(t, err.Error(), "canary")
		assert.Lacks(t, err.Error(), "nary@")
	}
}

func TestOpenWithoutStateFolder(t *testing.T) {
	env := newEnv(t)
	env.StateDir = ""
	assert.Contains(t, fmt.Sprint(assert.Err(database.Open(t.Context(), env, database.Default, ""))), "sqlite:PATH")
	d := assert.Value(database.Open(t.Context(), env, "sqlite:own.db", ""))(t)
	defer d.Close()
	assert.Contains(t, fmt.Sprint(assert.Err(d.Servers(t.Context()))), "--database-key-file", "without a key")
}

// The sealing key is in the keyring of the system if the environment says so, and in no file then.
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	env := newEnv(t)
	assert.True(t, database.StateKeys(env) == nil, "the key is in a file by default")
	env.Lookup = func(name string) (string, bool) { return "1", name == database.KeyringEnvName }
	d := assert.Value(database.Open(t.Context(), env, database.Default, ""))(t)
	defer d.Close()
	assert.Value(d.Servers(t.Context()))(t)
	assert.True(t, len(assert.Value(keyring.Get("mcpbelt", "session keys"))(t)) > 40, "a key in the keyring")
	_, err := os.Stat(filepath.Join(env.StateDir, "sessions", "key"))
	assert.True(t, os.IsNotExist(err), "no key in the state folder, got %v", err)
}
