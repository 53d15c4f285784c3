package filestore

import (
	"context"
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
		assert.OK(t, wait())
	}
	assert.Equal(t, string(readFile(t, filepath.Join(outer, "count"))), strconv.Itoa(lockProcesses*lockGoroutines*lockRounds), "counted")
	assert.Equal(t, files(t, f, locksDir) == nil, true, "lock files remain")
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
	assert.Equal(t, assert.Value(out.ReadString('\n'))(t), "locked\n", "the other process says")
	f := openTest(t, dir) // does not take the file for one that was left
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.Is(t, errOf(f.Lock(ctx, "a")), context.DeadlineExceeded, "Lock while another process holds it")
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
	got := files(t, f, tmpDir)
	assert.Equal(t, [...]any{len(got), got[0]}, [...]any{1, "fresh"}, "temporary files")
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
	assert.Is(t, errOf(f.Save(ctx, "a", []byte("two"), at)), context.DeadlineExceeded, "Save")
	assert.Is(t, f.Delete(ctx, "a", at), context.DeadlineExceeded, "Delete")
	assert.Is(t, errOf(f.Save(t.Context(), "a", nil, "another")), storage.ErrConflict, "a conflict that is seen without the lock")
	expect(t, f, "a", "one") // reads without the lock
	assert.Equal(t, files(t, f, tmpDir) == nil, true, "temporary files remain")
}
