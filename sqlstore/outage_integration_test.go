//go:build integration && unix

package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
)

// outage is how long the server is away: SQLSTORE_OUTAGE, or 5 seconds.
func outage(t testing.TB) time.Duration {
	if text := os.Getenv("SQLSTORE_OUTAGE"); text != "" {
		return assert.Value(time.ParseDuration(text))(t)
	}
	return 5 * time.Second
}

// The server stops, and another time hangs. Meanwhile each call ends with its context at the
// latest, with an error of the package. Afterwards all goes on: what was saved is there, and a watch
// tells of what another process has changed meanwhile and changes later.
func TestOutage(t *testing.T) {
	for _, way := range []struct {
		name       string
		away, back func(*pgtest.Server)
	}{
		{"stopped", (*pgtest.Server).Stop, func(p *pgtest.Server) { p.Start(t) }},
		{"hanging",
			func(p *pgtest.Server) { signalAll(t, p, syscall.SIGSTOP) },
			func(p *pgtest.Server) { signalAll(t, p, syscall.SIGCONT) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			server := pgtest.New(t)
			w := postgresPlace(server.URL).open(t)
			here, there := w.one.Store("n"), w.two.Store("n")
			told := watch(t, here, "a")
			at := assert.Value(here.Save(t.Context(), "a", []byte("kept"), ""))(t)
			told.await(t, "a")
			way.away(server)
			checkAway(t, here, at, outage(t))
			way.back(server)
			var r storage.Record
			until(t, "what was kept is read", func() (ok bool) {
				var err error
				r, err = here.Load(t.Context(), "a", "")
				return err == nil
			})
			assert.Contains(t, string(r.Data), "kept")
			for range 2 {
				r.Revision = assert.Value(there.Save(t.Context(), "a", []byte("later"), r.Revision))(t)
				told.await(t, "a")
			}
		})
	}
}

// signalAll sends a signal to the server and to its processes.
func signalAll(t *testing.T, p *pgtest.Server, s syscall.Signal) {
	t.Helper()
	out := assert.Value(exec.Command("pgrep", "-P", fmt.Sprint(p.Process.Process.Pid)).Output())(t)
	for _, text := range append(strings.Fields(string(out)), fmt.Sprint(p.Process.Process.Pid)) {
		var pid int
		assert.Value(fmt.Sscan(text, &pid))(t)
		_ = syscall.Kill(pid, s) // it may have ended
	}
}

// checkAway calls everything while the server is away.
func checkAway(t *testing.T, s storage.Store, at storage.Revision, d time.Duration) {
	t.Helper()
	calls := map[string]func(context.Context) error{
		"Load": func(ctx context.Context) error { _, err := s.Load(ctx, "a", ""); return err },
		"Save": func(ctx context.Context) error { _, err := s.Save(ctx, "a", []byte("kept too"), at); return err },
		"Names": func(ctx context.Context) (err error) {
			for _, err = range s.Names(ctx, "") {
				break
			}
			return err
		},
		"TakeLease": func(ctx context.Context) error {
			_, err := s.(storage.Leaser).TakeLease(ctx, "a", time.Second)
			return err
		},
	}
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for name, call := range calls {
		wg.Go(func() {
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				assert.As[*sqlstore.Error](t, call(ctx), "%s while the server is away", name)
				<-ctx.Done()
				cancel()
			}
		})
	}
	wg.Wait()
}
