package filestore

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

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
	broken = append(broken, append(bytes.Clone(sound), 0), bytes.Repeat([]byte{0}, len(sound)), make([]byte, maxFile+1))
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
	assert.Equal(t, slices.EqualFunc(aside, broken, bytes.Equal), true, "the files are moved aside as they were")
	assert.Equal(t, strings.Count(log.String(), "level=ERROR"), len(broken), "logged errors")
	assert.Lacks(t, log.String(), "canary", "log")
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
	assert.Equal(t, assert.As[*Error](t, err).Cure != "", true, "the error has a cure")
	assert.Is(t, errOf(f.Save(t.Context(), "a", nil, "")), errNewer, "Save")
	assert.Equal(t, bytes.Equal(readFile(t, path), raw), true, "the file of a later version is as it was")
}
