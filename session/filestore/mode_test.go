//go:build unix

package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	assert.OK(t, os.Chmod(path, mode))
}

func expectMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	assert.OK(t, err, "%s has mode", path)
	assert.Equal(t, info.Mode().Perm(), want, "%s has mode", path)
}

func TestFolderForOthers(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "shared")
	assert.OK(t, os.Mkdir(shared, 0o700))
	chmod(t, shared, 0o755)
	hurt(t, filepath.Join(shared, "something"), nil)
	_, err := openFolder(shared, nil)
	assert.As[*Error](t, err)
	assert.Contains(t, err.Error(), "chmod 700", "a folder that others use, too")
	expectMode(t, shared, 0o755)
	assert.Equal(t, len(assert.Value(os.ReadDir(shared))(t)), 1, "files in the folder")

	empty := t.TempDir()
	chmod(t, empty, 0o777)
	f, log := openLogged(t, empty)
	expectMode(t, empty, 0o700)
	assert.Contains(t, log.String(), "level=WARN", "log")
	save(t, f, "a", "x", "")
	chmod(t, empty, 0o750) // as some volumes of containers are made when they are mounted
	chmod(t, onDisk(f, "a"), 0o640)
	f = openTest(t, empty)
	expectMode(t, empty, 0o700)
	expect(t, f, "a", "x")
	expectMode(t, onDisk(f, "a"), 0o600)
}

func TestFilesOfOtherKinds(t *testing.T) {
	f := openTest(t, t.TempDir())
	at := save(t, f, "a", "x", "")
	save(t, f, "b", "w", "")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	hurt(t, elsewhere, readFile(t, onDisk(f, "a")))
	path := onDisk(f, "a")
	for kind, make := range map[string]func() error{
		"link":   func() error { return os.Symlink(elsewhere, path) },
		"inside": func() error { return os.Symlink(filepath.Base(onDisk(f, "b")), path) },
		"pipe":   func() error { return syscall.Mkfifo(path, 0o600) },
		"folder": func() error { return os.Mkdir(path, 0o700) },
	} {
		assert.OK(t, errors.Join(os.RemoveAll(path), make()))
		assert.Equal(t, assert.As[*Error](t, errOf(f.Load(t.Context(), "a", "")), "Load of a %s", kind).record, "a", "Load of a %s", kind)
		assert.As[*Error](t, errOf(f.Save(t.Context(), "a", []byte("y"), at)), "Save over a %s", kind)
	}
	expect(t, f, "b", "w")
	// The locks are files, not links.
	assert.OK(t, os.Symlink(elsewhere, filepath.Join(f.dir, locksDir, recordLock+"b")))
	assert.As[*Error](t, errOf(f.Lock(t.Context(), "b")))
	// Nor are the folders of the store.
	dir := t.TempDir()
	assert.OK(t, os.Symlink(t.TempDir(), filepath.Join(dir, recordsDir)))
	assert.As[*Error](t, errOf(openFolder(dir, nil)))
}
