package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

const lockProcesses, lockGoroutines = 3, 4

var lockRounds = assert.Cases(10, 50)

// countUnderLock counts up a plain file: only the lock keeps others away.
func countUnderLock(f *folder) error {
	path := filepath.Join(filepath.Dir(f.dir), "count")
	add := func() error {
		unlock, err := f.Lock(context.Background(), "a")
		if err != nil {
			return err
		}
		defer unlock()
		text, _ := os.ReadFile(path)
		n, _ := strconv.Atoi(string(text))
		return os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
	}
	errs := make(chan error)
	for range lockGoroutines {
		go func() {
			var err error
			for range lockRounds {
				err = errors.Join(err, add())
			}
			errs <- err
		}()
	}
	var err error
	for range lockGoroutines {
		err = errors.Join(err, <-errs)
	}
	return err
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
	wantFiles(t, f, locksDir, 1) // that of the record
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
	assert.Is(t, errOf(f.Lock(ended(t), "a")), context.Canceled, "Lock while another process holds it")
	save(t, f, "a", "x", "") // does not ask for the lock
	assert.OK(t, cmd.Process.Kill())
	assert.Value(f.Lock(t.Context(), "a"))(t)()
}

// ended returns a context that ends soon.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	return ctx
}

func TestOpenRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := t.TempDir()
	f := openTest(t, dir)
	fresh, stale := filepath.Join(dir, tmpDir, "fresh"), filepath.Join(dir, tmpDir, "stale")
	for _, path := range []string{fresh, stale} {
		hurt(t, path, nil)
	}
	old := time.Now().Add(-staleTemp - time.Minute)
	assert.OK(t, os.Chtimes(stale, old, old))
	openTest(t, dir)
	assert.Equal(t, strings.Join(files(t, f, tmpDir), " "), "fresh", "temporary files")
}

// A temporary file that Open took for a stale one is missed by its writer only.
func TestWriterThatStoppedForLong(t *testing.T) {
	f := openTest(t, t.TempDir())
	at := save(t, f, "a", "one", "")
	raw, _ := encode("a", []byte("two"))
	tmp := assert.Value(f.writeTemp(raw))(t)
	f.removeTemp(tmp)
	assert.Fails(t, f.replace(t.Context(), "a", tmp, at), "without the new state")
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
	assert.Is(t, errOf(f.Save(ended(t), "a", []byte("two"), at)), context.Canceled, "Save")
	assert.Is(t, f.Delete(ended(t), "a", at), context.Canceled, "Delete")
	assert.Is(t, errOf(f.Save(t.Context(), "a", nil, "another")), storage.ErrConflict, "a conflict that is seen without the lock")
	expect(t, f, "a", "one") // reads without the lock
	wantFiles(t, f, tmpDir, 0)
}
