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

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// start starts a process of this test binary. It is killed when the test ends.
func start(t testing.TB, role, dir string, env ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(assert.Value(os.Executable())(t))
	cmd.Env = append(append(os.Environ(), roleVar+"="+role, "MCPBELT_FILESTORE_DIR="+dir), env...)
	cmd.Stderr = os.Stderr
	stdin = assert.Value(cmd.StdinPipe())(t)
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
		_, err = f.Save(ctx, name, []byte(fmt.Sprintf("%d %s", n+1, strings.Repeat("x", rand.IntN(20000)))), r.Revision)
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

// An ack is a save that a writer has acknowledged.
type ack struct {
	name string
	n    int
}

// A writer is a process that runs writeOn.
type writer struct {
	cmd  *exec.Cmd
	acks chan<- ack
	done chan error
}

func startWriter(t *testing.T, dir string, acks chan<- ack) *writer {
	t.Helper()
	cmd, _, out := start(t, "write", dir)
	w := &writer{cmd, acks, make(chan error, 1)}
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

// TestKilledWriters kills processes while they write. Nothing that a writer has
// acknowledged may be lost or acknowledged by two, and nothing may be damaged.
// MCPBELT_SOAK=1 kills 1,000 of them.
func TestKilledWriters(t *testing.T) {
	cycles := assert.Cases(4, 20)
	if os.Getenv("MCPBELT_SOAK") != "" {
		cycles = 1000
	}
	dir := filepath.Join(t.TempDir(), "store")
	f, log := openLogged(t, dir)
	acked, newest, acks := map[ack]bool{}, map[string]int{}, make(chan ack)
	take := func(a ack) {
		assert.False(t, acked[a], "%v was acknowledged before", a)
		acked[a] = true
		newest[a.name] = max(newest[a.name], a.n)
	}
	// kill takes acknowledgements until a writer is gone.
	kill := func(w *writer) {
		t.Helper()
		assert.OK(t, w.cmd.Process.Kill())
		for {
			select {
			case a := <-acks:
				take(a)
			case err := <-w.done:
				assert.False(t, assert.As[*exec.ExitError](t, err).Exited(), "the writer ended by itself: %v", err)
				return
			}
		}
	}
	writers := []*writer{startWriter(t, dir, acks), startWriter(t, dir, acks)}
	for cycle := range cycles {
		for range 1 + rand.IntN(15) {
			take(<-acks)
		}
		i := cycle % len(writers)
		kill(writers[i])
		for name, n := range newest {
			kept := assert.Value(countOf(assert.Value(f.Load(t.Context(), name, ""))(t)))(t)
			assert.True(t, kept >= n, "%s is %d after %d kills; at least the acknowledged %d", name, kept, cycle+1, n)
		}
		writers[i] = startWriter(t, dir, acks)
	}
	for _, w := range writers {
		kill(w)
	}
	wantFiles(t, f, damagedDir, 0)
	assert.Equal(t, log.String(), "", "log")
	old := time.Now().Add(-2 * staleTemp)
	for _, name := range files(t, f, tmpDir) {
		assert.OK(t, os.Chtimes(filepath.Join(dir, tmpDir, name), old, old))
	}
	openTest(t, dir)
	wantFiles(t, f, tmpDir, 0)
}

// roleVar tells a process that the tests started what it is for.
const roleVar = "MCPBELT_FILESTORE_ROLE"

func init() { lookEvery = time.Millisecond }

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := play(role, os.Getenv("MCPBELT_FILESTORE_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func play(role, dir string) error {
	f, err := openFolder(dir, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	switch role {
	case "write":
		return writeOn(f)
	case "count":
		return countUnderLock(f)
	case "hold":
		return holdLock(f)
	case "full":
		return writeTooMuch(f)
	}
	return fmt.Errorf("no role %q", role)
}
