package filestore

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

// A journal is the log of a store, for many writers.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func openLogged(t testing.TB, dir string) (*folder, *journal) {
	t.Helper()
	j := &journal{}
	f := assert.Value(openFolder(dir, slog.New(slog.NewTextHandler(j, nil))))(t)
	t.Cleanup(func() { _ = f.Close() })
	return f, j
}

func openTest(t testing.TB, dir string) *folder {
	t.Helper()
	f, _ := openLogged(t, dir)
	return f
}

func save(t testing.TB, f *folder, name, data string, old storage.Revision) storage.Revision {
	t.Helper()
	return assert.Value(f.Save(t.Context(), name, []byte(data), old))(t)
}

// expect loads a record.
func expect(t testing.TB, f *folder, name, data string) storage.Revision {
	t.Helper()
	r, err := f.Load(t.Context(), name, "")
	assert.OK(t, err, "Load(%q)", name)
	assert.Equal(t, string(r.Data), data, "Load(%q)", name)
	return r.Revision
}

// files returns the files in a folder of the store and below it.
func files(t testing.TB, f *folder, below string) (names []string) {
	t.Helper()
	assert.OK(t, filepath.WalkDir(filepath.Join(f.dir, below), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, d.Name())
		}
		return err
	}))
	return names
}

// wantFiles checks how many files are in a folder of the store.
func wantFiles(t testing.TB, f *folder, below string, n int) {
	t.Helper()
	got := files(t, f, below)
	assert.Equal(t, len(got), n, "files in %s, which are %q", below, got)
}

// onDisk returns the path of a record.
func onDisk(f *folder, name string) string {
	return filepath.Join(f.dir, filepath.FromSlash(file(name)))
}

func TestDriver(t *testing.T) {
	storagetest.Run(t,
		func(t testing.TB) storage.Store { return openTest(t, t.TempDir()) },
		&storagetest.Options{Reopen: func(t testing.TB, s storage.Store) storage.Store { return openTest(t, s.(*folder).dir) }})
}

func TestOneFileARecord(t *testing.T) {
	f := openTest(t, t.TempDir())
	var at storage.Revision
	for _, data := range []string{"one", "two", "three"} {
		at = save(t, f, "a", data, at)
	}
	wantFiles(t, f, recordsDir, 1)
	wantFiles(t, f, tmpDir, 0)
	assert.OK(t, f.Delete(t.Context(), "a", at))
	wantFiles(t, f, recordsDir, 0)
}

// FuzzNoNameBecomesAPath saves under names that lead elsewhere.
func FuzzNoNameBecomesAPath(fuzz *testing.F) {
	for _, name := range []string{"a", "../../a", "/a", "a/../b", `..\a`, "con", "a\x00b", strings.Repeat("a", 129), "A", "a."} {
		fuzz.Add(name)
	}
	outer := fuzz.TempDir()
	f := openTest(fuzz, filepath.Join(outer, "store"))
	fuzz.Fuzz(func(t *testing.T, name string) {
		at, err := f.Save(t.Context(), name, []byte(name), "")
		if err != nil {
			assert.Is(t, err, storage.ErrName, "Save(%q)", name)
		} else {
			expect(t, f, name, name)
			assert.OK(t, f.Delete(t.Context(), name, at))
		}
		assert.Equal(t, len(assert.Value(os.ReadDir(outer))(t)), 1, "Save(%q): files beside the store, and it", name)
	})
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
