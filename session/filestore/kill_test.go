package filestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// start starts a process of this test binary. It is killed when the test ends.
func start(t testing.TB, role, dir string, env ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout *bufio.Reader) {
	t.Helper()
	exe, err := os.Executable()
	assert.OK(t, err)
	cmd = exec.Command(exe)
	cmd.Env = append(append(os.Environ(), roleVar+"="+role, "MCPBELT_FILESTORE_DIR="+dir), env...)
	cmd.Stderr = os.Stderr
	stdin, err = cmd.StdinPipe()
	assert.OK(t, err)
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, stdin, bufio.NewReader(out)
}

// killRecords is how many records the writers share.
const killRecords = 4

// writeOn counts records up and acknowledges each save on standard output. It
// ends when nobody listens.
func writeOn(f *folder) error {
	ctx := context.Background()
	for {
		name := "r" + strconv.Itoa(rand.IntN(killRecords))
		r, err := f.Load(ctx, name, "")
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		n, err := countOf(r)
		if err != nil {
			return err
		}
		// Of very different lengths, so that a torn file would show.
		data := fmt.Sprintf("%d %s", n+1, strings.Repeat("x", rand.IntN(20000)))
		_, err = f.Save(ctx, name, []byte(data), r.Revision)
		if errors.Is(err, storage.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%s %d\n", name, n+1); err != nil {
			return err
		}
	}
}

// countOf returns the number in a record that writeOn has saved.
func countOf(r storage.Record) (int, error) {
	if r.Revision == "" {
		return 0, nil
	}
	number, _, _ := strings.Cut(string(r.Data), " ")
	return strconv.Atoi(number)
}

// TestKilledWriters kills processes while they write. Nothing that a writer has
// acknowledged may be lost or acknowledged by two, and nothing may be damaged.
// MCPBELT_SOAK=1 kills 1,000 of them.
func TestKilledWriters(t *testing.T) {
	cycles := 20
	if os.Getenv("MCPBELT_SOAK") != "" {
		cycles = 1000
	}
	dir := filepath.Join(t.TempDir(), "store")
	f, log := openLogged(t, dir)
	type ack struct {
		name string
		n    int
	}
	acked := map[ack]bool{}
	newest := map[string]int{}
	acks := make(chan ack)
	type writer struct {
		cmd  *exec.Cmd
		done chan error
	}
	spawn := func() writer {
		cmd, _, out := start(t, "write", dir)
		w := writer{cmd, make(chan error, 1)}
		go func() { // ends with the process
			for {
				line, err := out.ReadString('\n')
				if err != nil { // a last line that is not whole acknowledges nothing
					w.done <- cmd.Wait()
					return
				}
				var a ack
				if _, err := fmt.Sscanf(line, "%s %d", &a.name, &a.n); err != nil {
					w.done <- fmt.Errorf("a writer wrote %q", line)
					return
				}
				acks <- a
			}
		}()
		return w
	}
	take := func(a ack) {
		if acked[a] {
			t.Errorf("%v was acknowledged twice", a)
		}
		acked[a] = true
		newest[a.name] = max(newest[a.name], a.n)
	}
	// reap takes acknowledgements until a writer is gone.
	reap := func(w writer) {
		t.Helper()
		for {
			select {
			case a := <-acks:
				take(a)
			case err := <-w.done:
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Exited() {
					t.Fatalf("a writer was not killed, but ended: %v", err)
				}
				return
			}
		}
	}
	writers := []writer{spawn(), spawn(), spawn()}
	for cycle := range cycles {
		for range 1 + rand.IntN(15) {
			take(<-acks)
		}
		w := &writers[cycle%len(writers)]
		assert.OK(t, w.cmd.Process.Kill())
		reap(*w)
		for name, n := range newest {
			r, err := f.Load(t.Context(), name, "")
			kept, bad := countOf(r)
			if err != nil || bad != nil || kept < n {
				t.Fatalf("after %d kills %s is %d, %v, %v; acknowledged was %d", cycle+1, name, kept, err, bad, n)
			}
		}
		*w = spawn()
	}
	for _, w := range writers {
		_ = w.cmd.Process.Kill()
		reap(w)
	}
	assert.Equal(t, files(t, f, damagedDir) == nil, true, "damaged files")
	assert.Equal(t, log.String(), "", "logged")
	left := files(t, f, tmpDir)
	t.Logf("%d kills, %d acknowledged saves, %d temporary files left by the killed", cycles, len(acked), len(left))
	old := time.Now().Add(-2 * staleTemp)
	for _, name := range left {
		assert.OK(t, os.Chtimes(filepath.Join(dir, tmpDir, name), old, old))
	}
	openTest(t, dir)
	assert.Equal(t, files(t, f, tmpDir) == nil, true, "Open left")
}
