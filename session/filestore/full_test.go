//go:build linux

package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"context"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// mount mounts a small file system, or skips the test where that is not allowed.
func mount(t *testing.T, options string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("mcpbelt", dir, "tmpfs", 0, options); err != nil {
		t.Skip("cannot mount a file system:", err)
	}
	t.Cleanup(func() { assert.OK(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// expectFailure wants an *Error with a cause.
func expectFailure(t *testing.T, err, cause error) {
	t.Helper()
	assert.True(t, assert.As[*Error](t, err).dir != "", "the error has a folder")
	assert.Is(t, err, cause)
}

func TestDiskFull(t *testing.T) {
	// The limit of 64 KiB is reached by data, the one of 40 inodes by files.
	for _, options := range []string{"size=64k", "size=1m,nr_inodes=40"} {
		t.Run(options, func(t *testing.T) {
			f := openTest(t, filepath.Join(mount(t, options), "store"))
			at := save(t, f, "a", "one", "")
			filler := assert.Value(os.Create(filepath.Join(filepath.Dir(f.dir), "filler")))(t)
			defer filler.Close()
			var err error
			if strings.HasPrefix(options, "size=64k") {
				_, err = filler.Write(make([]byte, 1<<20))
			} else {
				for i := 0; err == nil; i++ {
					err = os.WriteFile(fmt.Sprintf("%s%d", filler.Name(), i), nil, 0o600)
				}
			}
			assert.Is(t, err, syscall.ENOSPC, "when the file system is full")
			large := bytes.Repeat([]byte("x"), 9000)
			for i := range 5 {
				expectFailure(t, errOf(f.Save(t.Context(), "a", large, at)), syscall.ENOSPC)
				assert.Fails(t, errOf(f.Save(t.Context(), fmt.Sprint("new", i), large, "")), "a new record")
				assert.Equal(t, expect(t, f, "a", "one"), at, "the revision")
			}
			wantFiles(t, f, tmpDir, 0)
			assert.Value(openFolder(f.dir, nil))(t)
			if strings.HasPrefix(options, "size=64k") {
				assert.OK(t, filler.Truncate(0))
				save(t, f, "a", "two", at)
				expect(t, f, "a", "two")
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	dir := mount(t, "size=1m")
	f := openTest(t, filepath.Join(dir, "store"))
	at := save(t, f, "a", "one", "")
	at = save(t, f, "a", "two", at)
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("mcpbelt", dir, "tmpfs", syscall.MS_REMOUNT|flags, "size=1m"); err != nil {
			t.Skip("cannot mount a file system for reading:", err)
		}
	}
	remount(syscall.MS_RDONLY)
	expectFailure(t, errOf(f.Save(t.Context(), "a", []byte("x"), at)), syscall.EROFS)
	expectFailure(t, f.Delete(t.Context(), "a", at), syscall.EROFS)
	expectFailure(t, errOf(f.Lock(t.Context(), "a")), syscall.EROFS)
	expect(t, openTest(t, f.dir), "a", "two") // what is there can be read
	expectFailure(t, errOf(openFolder(filepath.Join(dir, "other"), nil)), syscall.EROFS)
	remount(0)
	save(t, f, "a", "three", at)
}

// fileLimit is how large a file writeTooMuch may make.
const fileLimit = 4096

// writeTooMuch saves more than the process may write, which fails in the middle of
// the file.
func writeTooMuch(f *folder) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: fileLimit, Max: fileLimit}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	r, err := f.Load(context.Background(), "a", "")
	if err != nil {
		return err
	}
	for name, at := range map[string]storage.Revision{"a": r.Revision, "b": ""} {
		if _, err = f.Save(context.Background(), name, make([]byte, 2*fileLimit), at); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("save %s: got %v, want %w", name, err, syscall.EFBIG)
		}
	}
	return nil
}

func TestWriteFailsHalfway(t *testing.T) {
	dir := t.TempDir()
	f := openTest(t, dir)
	at := save(t, f, "a", "one", "")
	cmd, _, _ := start(t, "full", dir)
	assert.OK(t, cmd.Wait())
	assert.Equal(t, expect(t, f, "a", "one"), at, "the revision")
	assert.Is(t, errOf(f.Load(t.Context(), "b", "")), storage.ErrNotFound, "Load of what was not saved")
	wantFiles(t, f, tmpDir, 0)
}
