package filestore

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

// openLogged opens a folder, and returns its log besides, to be read when all is done.
func openLogged(t testing.TB, dir string) (f *folder, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	f = assert.Value(openFolder(dir, slog.New(slog.NewTextHandler(log, nil))))(t)
	t.Cleanup(func() { _ = f.Close() })
	return f, log
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

// What earlier versions wrote has to be read for ever: this must not change.
const writtenByVersion1 = "6d6266730101550fb296a4f8eae58dac12a0768aba8c0c616c6963652e676974687562000000067365616c6564ed88b4decf4ec4ceaf4534f9877e26a660d1920c66ac2c3cc247c803cdcc49f9"

func TestFormatStays(t *testing.T) {
	raw := assert.Value(hex.DecodeString(writtenByVersion1))(t)
	f := openTest(t, t.TempDir())
	save(t, f, "alice.github", "x", "")
	hurt(t, onDisk(f, "alice.github"), raw)
	assert.Equal(t, expect(t, f, "alice.github", "sealed"), "550fb296a4f8eae58dac12a0768aba8c", "the revision")
	assert.Equal(t, file("alice.github"), "records/d0/0,alice.github", "file")
}

// hurt overwrites a file, as no writer of the store does.
func hurt(t testing.TB, path string, raw []byte) {
	t.Helper()
	assert.OK(t, os.WriteFile(path, raw, 0o600))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	return assert.Value(os.ReadFile(path))(t)
}

func TestDamageIsNoticed(t *testing.T) {
	f, log := openLogged(t, t.TempDir())
	save(t, f, "a", "canary", "")
	path := onDisk(f, "a")
	sound := readFile(t, path)

	var broken [][]byte
	for i := 0; i < len(sound); i += assert.Cases(5, 1) {
		b := bytes.Clone(sound)
		b[i] ^= 1 << (i % 8)
		broken = append(broken, b)
		if i%9 == 0 {
			broken = append(broken, sound[:i])
		}
	}
	broken = append(broken, append(bytes.Clone(sound), 0), bytes.Repeat([]byte{0}, len(sound)))
	for i, b := range broken {
		hurt(t, path, b)
		assert.Is(t, errOf(f.Load(t.Context(), "a", "")), storage.ErrDamaged, "case %d: Load", i)
	}
	var aside [][]byte
	for _, name := range files(t, f, damagedDir) {
		aside = append(aside, readFile(t, filepath.Join(f.dir, damagedDir, name)))
	}
	slices.SortFunc(aside, bytes.Compare)
	slices.SortFunc(broken, bytes.Compare)
	assert.True(t, slices.EqualFunc(aside, broken, bytes.Equal), "the files are moved aside as they were")
	assert.Equal(t, strings.Count(log.String(), "level=ERROR"), len(broken), "logged errors")
	assert.Lacks(t, log.String(), "canary", "log")

	assert.OK(t, os.WriteFile(path, nil, 0o600))
	assert.OK(t, os.Truncate(path, int64(maxFile)+1))
	assert.Is(t, errOf(f.Load(t.Context(), "a", "")), storage.ErrDamaged, "Load of a file that is too large")
	assert.Equal(t, len(files(t, f, damagedDir)), len(broken)+1, "files that are moved aside")
}

// After damage there is no record, and nothing of before can be saved over.
func TestNoRecordAfterDamage(t *testing.T) {
	dir := t.TempDir()
	f := openTest(t, dir)
	at := save(t, f, "a", "one", "")
	hurt(t, onDisk(f, "a"), []byte("x"))
	assert.Is(t, errOf(f.Load(t.Context(), "a", "")), storage.ErrDamaged, "first Load")
	for which, f := range map[string]*folder{"the store": f, "another store": openTest(t, dir)} {
		assert.Is(t, errOf(f.Load(t.Context(), "a", "")), storage.ErrNotFound, "second Load of %s", which)
		assert.Is(t, errOf(f.Save(t.Context(), "a", []byte("z"), at)), storage.ErrConflict, "Save of %s over what was lost", which)
	}
	for name, err := range f.Names(t.Context(), "") {
		t.Errorf("Names: got %q, %v, want none", name, err)
	}
	save(t, f, "a", "again", "")
	expect(t, f, "a", "again")
}

// A new login is saved in the place of a damaged record.
func TestSaveOverDamage(t *testing.T) {
	f := openTest(t, t.TempDir())
	save(t, f, "a", "one", "")
	hurt(t, onDisk(f, "a"), nil)
	save(t, f, "a", "new", "")
	expect(t, f, "a", "new")
	wantFiles(t, f, damagedDir, 1)
}

func TestSwappedFiles(t *testing.T) {
	f := openTest(t, t.TempDir())
	save(t, f, "alice", "of alice", "")
	save(t, f, "bob", "of bob", "")
	hurt(t, onDisk(f, "bob"), readFile(t, onDisk(f, "alice")))
	assert.Is(t, errOf(f.Load(t.Context(), "bob", "")), storage.ErrDamaged, "bob's record")
	expect(t, f, "alice", "of alice")
}

func TestFileOfLaterVersion(t *testing.T) {
	f := openTest(t, t.TempDir())
	save(t, f, "a", "x", "")
	path := onDisk(f, "a")
	raw := readFile(t, path)
	raw[atVersion]++
	raw = sum(raw[:len(raw)-32])
	hurt(t, path, raw)
	err := errOf(f.Load(t.Context(), "a", ""))
	assert.Is(t, err, errNewer)
	assert.Contains(t, assert.As[*Error](t, err).Error(), "update this program")
	assert.Is(t, errOf(f.Save(t.Context(), "a", nil, "")), errNewer, "Save")
	assert.True(t, bytes.Equal(readFile(t, path), raw), "the file of a later version is as it was")
}
