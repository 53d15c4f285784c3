//go:build unix

package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("%s has mode %v, %v, want %v", path, info.Mode(), err, want)
	}
}

func TestFolderForOthers(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "shared")
	assert.OK(t, os.Mkdir(shared, 0o700))
	chmod(t, shared, 0o755)
	hurt(t, filepath.Join(shared, "something"), nil)
	var e *Error
	if _, err := openFolder(shared, nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("open of a folder that is somebody else's, too: %v", err)
	}
	expectMode(t, shared, 0o755)
	if left, err := os.ReadDir(shared); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}

	empty := t.TempDir()
	chmod(t, empty, 0o777)
	f, log := openLogged(t, empty)
	expectMode(t, empty, 0o700)
	if !strings.Contains(log.String(), "level=WARN") {
		t.Error("a folder that others could use is not logged")
	}
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
		var e *Error
		if _, err := f.Load(t.Context(), "a", ""); !errors.As(err, &e) || e.Record != "a" {
			t.Errorf("Load of a %s: %v", kind, err)
		}
		if _, err := f.Save(t.Context(), "a", []byte("y"), at); !errors.As(err, &e) {
			t.Errorf("Save over a %s: %v", kind, err)
		}
	}
	expect(t, f, "b", "w")
	// The locks are files, not links.
	assert.OK(t, os.Symlink(elsewhere, filepath.Join(f.dir, locksDir, recordLock+"b")))
	var e *Error
	if _, err := f.Lock(t.Context(), "b"); !errors.As(err, &e) {
		t.Errorf("Lock of a link: %v", err)
	}
	// Nor are the folders of the store.
	dir := t.TempDir()
	assert.OK(t, os.Symlink(t.TempDir(), filepath.Join(dir, recordsDir)))
	if _, err := openFolder(dir, nil); !errors.As(err, &e) {
		t.Errorf("open with a link for a folder: %v", err)
	}
}
