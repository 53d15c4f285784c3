package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	lockProcesses  = 3
	lockGoroutines = 4
	lockRounds     = 50
)

// countUnderLock counts up a plain file: only the lock keeps others away.
func countUnderLock(f *folder) error {
	path := filepath.Join(filepath.Dir(f.dir), "count")
	var wg sync.WaitGroup
	errs := make(chan error, lockGoroutines)
	for range lockGoroutines {
		wg.Go(func() {
			for range lockRounds {
				unlock, err := f.Lock(context.Background(), "a")
				if err != nil {
					errs <- err
					return
				}
				text, _ := os.ReadFile(path)
				n, _ := strconv.Atoi(string(text))
				err = os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
				unlock()
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// Each unlock removes the file that the others wait for.
func TestLockAcrossProcesses(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "store")
	f := openTest(t, dir)
	var waits []func() error
	for range lockProcesses {
		cmd, _, _ := start(t, "count", dir)
		waits = append(waits, cmd.Wait)
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			t.Error(err)
		}
	}
	want := strconv.Itoa(lockProcesses * lockGoroutines * lockRounds)
	if got := readFile(t, filepath.Join(outer, "count")); string(got) != want {
		t.Errorf("counted %s under the lock, want %s", got, want)
	}
	if got := files(t, f, locksDir); got != nil {
		t.Errorf("lock files remain: %q", got)
	}
}

// holdLock holds a lock until it is killed.
func holdLock(f *folder) error {
	if _, err := f.Lock(context.Background(), "a"); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func TestLockEndsWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	cmd, _, out := start(t, "hold", dir)
	if line, err := out.ReadString('\n'); err != nil || line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	f := openTest(t, dir) // does not take the file for one that was left
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.Lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Lock while another process holds it: %v", err)
	}
	save(t, f, "a", "x", "") // does not ask for the lock
	assert.OK(t, cmd.Process.Kill())
	unlock := assert.Value(f.Lock(t.Context(), "a"))(t)
	unlock()
}

func TestOpenRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := t.TempDir()
	f := openTest(t, dir)
	unlock := assert.Value(f.Lock(t.Context(), "held"))(t)
	defer unlock()
	fresh, stale := filepath.Join(dir, tmpDir, "fresh"), filepath.Join(dir, tmpDir, "stale")
	for _, path := range []string{fresh, stale, filepath.Join(dir, locksDir, recordLock+"left")} {
		hurt(t, path, nil)
	}
	old := time.Now().Add(-staleTemp - time.Minute)
	assert.OK(t, os.Chtimes(stale, old, old))
	openTest(t, dir)
	if got := files(t, f, tmpDir); len(got) != 1 || got[0] != "fresh" {
		t.Errorf("temporary files are %q, want the fresh one", got)
	}
	if got := files(t, f, locksDir); len(got) != 1 || got[0] != recordLock+"held" {
		t.Errorf("lock files are %q, want the one that is held", got)
	}
}

// A temporary file that Open took for a stale one is missed by its writer only.
func TestWriterThatStoppedForLong(t *testing.T) {
	f := openTest(t, t.TempDir())
	at := save(t, f, "a", "one", "")
	raw, _ := encode("a", []byte("two"))
	tmp := assert.Value(f.writeTemp(raw))(t)
	f.removeTemp(tmp)
	assert.Fails(t, f.replace(t.Context(), "a", tmp, at), "no error without the new state")
	assert.Equal(t, expect(t, f, "a", "one"), at, "the revision")
}

// A caller that cannot get the lock of a shard gives up with its context, and leaves
// nothing.
func TestWaitForAShardIsBounded(t *testing.T) {
	dir := t.TempDir()
	f, other := openTest(t, dir), openTest(t, dir)
	at := save(t, f, "a", "one", "")
	unlock := assert.Value(other.lockShard(t.Context(), "a"))(t)
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.Save(ctx, "a", []byte("two"), at); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Save: %v", err)
	}
	if err := f.Delete(ctx, "a", at); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Delete: %v", err)
	}
	if _, err := f.Save(t.Context(), "a", nil, "another"); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("a conflict that is seen without the lock: %v", err)
	}
	expect(t, f, "a", "one") // reads without the lock
	if got := files(t, f, tmpDir); got != nil {
		t.Errorf("temporary files remain: %q", got)
	}
}
