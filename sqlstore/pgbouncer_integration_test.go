//go:build integration

package sqlstore_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

// startPgBouncer starts pgbouncer before a server, and returns its URL for pgx.
func startPgBouncer(t *testing.T, p *pgtest.Server, mode string) string {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin")
	name, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip(err)
	}
	dir := assert.Value(os.MkdirTemp("", "pgb"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := pgtest.Unprivileged(t, dir)
	config := fmt.Sprintf("[databases]\n* = user=test host=%s\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = %s\n"+
		"auth_type = any\npool_mode = %s\nserver_round_robin = 1\nignore_startup_parameters = extra_float_digits\n", p.Dir, dir, mode)
	assert.OK(t, os.WriteFile(filepath.Join(dir, "ini"), []byte(config), 0o644))
	cmd := exec.Command(name, filepath.Join(dir, "ini"))
	var log strings.Builder
	cmd.Stderr = &log
	as(cmd)
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	// Prepared statements do not live beyond a transaction there.
	dsn := "postgres:///postgres?" + url.Values{"host": {dir}, "port": {"6432"}, "user": {"test"}, "default_query_exec_mode": {"exec"}}.Encode()
	awaitServer(t, dsn)
	return dsn
}

// What works through pgbouncer, by its mode. Where LISTEN does not last, changes are seen by looking.
func TestPgBouncer(t *testing.T) {
	server := pgtest.New(t)
	for _, mode := range []string{"session", "transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			p := postgresPlace(startPgBouncer(t, server, mode))
			direct := postgresPlace(server.URL)
			if mode == "statement" { // a migration is a transaction
				db, prefix, _ := p.fresh(t)
				assert.Fails(t, mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix}).Migrate(t.Context()), "Migrate")
			}
			storagetest.Run(t, func(t testing.TB) storage.Store {
				db, prefix, again := p.fresh(t)
				o := &sqlstore.Options{Prefix: prefix, WaitForNotification: p.wait}
				migrating := p
				if mode == "statement" {
					migrating = direct
				}
				assert.OK(t, mustNew(t, openPostgres(t, migrating.dsn), p.dialect, o).Migrate(t.Context()))
				return storeIn("n", twin{mustNew(t, db, p.dialect, o), mustNew(t, again(t), p.dialect, o)})
			}, &storagetest.Options{Reopen: func(_ testing.TB, s storage.Store) storage.Store {
				return s.(storeOf).twin.two.Store("n")
			}})
			if mode != "statement" {
				assert.OK(t, p.open(t).one.Activity(nil).Write(t.Context(), someEvents(2)))
			}
		})
	}
}
