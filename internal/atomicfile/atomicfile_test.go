package atomicfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func replace(t *testing.T, path, content string) {
	t.Helper()
	unlock := assert.Value(Lock(t.Context(), path))(t)
	defer unlock()
	assert.Value(Replace(t.Context(), path, []byte(content), 0o600))(t)
}

// alone fails the test unless the folder of path holds that file only.
func alone(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	assert.True(t, err == nil && len(files) == 1 && files[0].Name() == filepath.Base(path), "the folder holds %v, %v", files, err)
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	replace(t, path, "one")
	info := assert.Value(os.Stat(path))(t)
	assert.True(t, runtime.GOOS == "windows" || info.Mode().Perm() == 0o600, "the new file is %v", info)
	assert.OK(t, os.Chmod(path, 0o644))
	assert.OK(t, os.WriteFile(temp(path), []byte("of a killed process, and long"), 0o600))
	replace(t, path, "two")
	data, info, err := Read(path, 3)
	assert.True(t, err == nil && string(data) == "two" && (runtime.GOOS == "windows" || info.Mode().Perm() == 0o644), "%q, %v, %v", data, info, err)
	alone(t, path)
	_, _, err = Read(path, 2)
	assert.Fails(t, err, "a file that is too large")
	_, _, err = Read(filepath.Dir(path), 1<<20)
	assert.Fails(t, err, "a folder")
}

// A symbolic link in the place of the temporary file leads nowhere.
func TestPlantedLink(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "sub", "file"), filepath.Join(dir, "victim")
	assert.OK(t, os.Mkdir(filepath.Dir(path), 0o700))
	assert.OK(t, os.WriteFile(victim, []byte("mine"), 0o600))
	if err := os.Symlink(victim, temp(path)); err != nil {
		t.Skip(err)
	}
	replace(t, path, "one")
	assert.Equal(t, string(assert.Value(os.ReadFile(victim))(t)), "mine", "the victim")
	alone(t, path)
}

func TestClean(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	replace(t, path, "one")
	assert.True(t, !Dirty(path) && Clean(path) == nil, "clean after a replacement")
	assert.OK(t, os.WriteFile(temp(path), nil, 0o600))
	assert.True(t, Dirty(path) && Clean(path) == nil && !Dirty(path), "dirty, and then clean")
	alone(t, path)
}

func TestResolve(t *testing.T) {
	dir := assert.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	assert.OK(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	link("sub", "folder")
	link(filepath.Join("folder", "real"), "one")
	link("one", "two")
	link("loop", "loop")
	for name, want := range map[string]string{
		"none": "none", "one": filepath.Join("sub", "real"), "two": filepath.Join("sub", "real"),
		filepath.Join("folder", "x"): filepath.Join("sub", "x"), filepath.Join("missing", "x"): filepath.Join("missing", "x"),
	} {
		assert.Equal(t, assert.Value(Resolve(filepath.Join(dir, name)))(t), filepath.Join(dir, want), "%s leads to", name)
	}
	assert.Fails(t, assert.Err(Resolve(filepath.Join(dir, "loop"))), "a loop")
}

// TestLocks holds for both kinds of locks: one at a time, and waits end with ctx.
func TestLocks(t *testing.T) {
	for name, lock := range map[string]func(context.Context, string) (func(), error){"Lock": Lock, "lockBeside": lockBeside} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			var holders, n atomic.Int64
			done := make(chan error)
			for range 8 {
				go func() {
					for range 20 {
						unlock, err := lock(t.Context(), path)
						if err != nil {
							done <- err
							return
						}
						if holders.Add(1) != 1 {
							done <- errors.New("two hold the lock")
							return
						}
						n.Add(1)
						holders.Add(-1)
						unlock()
					}
					done <- nil
				}()
			}
			for range 8 {
				assert.Equal(t, <-done, nil)
			}
			unlock, err := lock(t.Context(), path)
			assert.OK(t, err)
			assert.Equal(t, n.Load(), 160, "locks")
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_, err := lock(ctx, path)
				done <- err
			}()
			cancel()
			assert.Is(t, <-done, context.Canceled, "the end of the wait")
			unlock()
			assert.Equal(t, len(assert.Value(os.ReadDir(filepath.Dir(path)))(t)), 0, "files that are left")
		})
	}
	assert.Is(t, assert.Err(Lock(t.Context(), filepath.Join(t.TempDir(), "missing", "file"))), fs.ErrNotExist, "a lock in a folder that is not there")
}
