//go:build integration && unix

package sqlstore_test

import (
	"context"
	"errors"
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
		d := assert.Value(time.ParseDuration(text))(t)
		return d
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
			p := postgresPlace(server.URL)
			w := p.open(t)
			here, there := w.one.Store("n"), w.two.Store("n")
			told := watch(t, here, "a")
			at, err := here.Save(t.Context(), "a", []byte("kept"), "")
			assert.OK(t, err)
			told.await(t, "a")
			way.away(server)
			checkAway(t, here, at, outage(t))
			way.back(server)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var r storage.Record
			until(t, func() bool { r, err = here.Load(ctx, "a", ""); return err == nil })
			if err != nil || !strings.HasPrefix(string(r.Data), "kept") {
				t.Fatalf("got %q, %v, want what was kept", r.Data, err)
			}
			for range 2 {
				if r.Revision, err = there.Save(ctx, "a", []byte("later"), r.Revision); err != nil {
					t.Fatal(err)
				}
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
			var longest time.Duration
			n := 0
			for ; time.Now().Before(end); n++ {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				began := time.Now()
				err := call(ctx)
				longest = max(longest, time.Since(began))
				var typed *sqlstore.Error
				if !errors.As(err, &typed) {
					t.Errorf("%s while the server is away: got %v, want a *sqlstore.Error", name, err)
				}
				<-ctx.Done()
				cancel()
			}
			t.Logf("%s: %d calls, the longest took %v", name, n, longest)
		})
	}
	wg.Wait()
}
