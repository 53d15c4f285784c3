package filestore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/session/driver"
)

// hurt overwrites a file, as no writer of the store does.
func hurt(t testing.TB, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDamageIsNoticedInEveryByte(t *testing.T) {
	f, log := openLogged(t, t.TempDir())
	at := save(t, f, "a", "canary-1", "")
	save(t, f, "a", "canary-2", at)
	path := onDisk(f, "a", 0)
	sound := readFile(t, path)

	var broken [][]byte
	for i := range sound {
		b := bytes.Clone(sound)
		b[i] ^= 1 << (i % 8)
		broken = append(broken, b)
		if i%9 == 0 {
			broken = append(broken, sound[:i])
		}
	}
	broken = append(broken, append(bytes.Clone(sound), 0), bytes.Repeat([]byte{0}, len(sound)), make([]byte, maxFile+1))
	seen := map[driver.Revision]bool{}
	for i, b := range broken {
		if err := os.Remove(path); err != nil { // state 1 may be a link to it
			t.Fatal(err)
		}
		hurt(t, path, b)
		at := expect(t, f, "a", "canary-1", true)
		if seen[at] {
			t.Fatalf("case %d: revision %q was given before", i, at)
		}
		seen[at] = true
	}
	var aside [][]byte
	for _, name := range files(t, f, damagedDir) {
		aside = append(aside, readFile(t, filepath.Join(f.dir, damagedDir, name)))
	}
	slices.SortFunc(aside, bytes.Compare)
	slices.SortFunc(broken, bytes.Compare)
	if !slices.EqualFunc(aside, broken, bytes.Equal) {
		t.Errorf("%d files were damaged, %d were moved aside, or not as they were", len(broken), len(aside))
	}
	if got := strings.Count(log.String(), "level=ERROR"); got != len(broken) {
		t.Errorf("%d errors were logged for %d damaged files", got, len(broken))
	}
	if strings.Contains(log.String(), "canary") {
		t.Error("the log shows data")
	}
}

func TestRestoredUntilSaved(t *testing.T) {
	dir := t.TempDir()
	f := openTest(t, dir)
	first := save(t, f, "a", "older", "")
	last := save(t, f, "a", "newer", first)
	hurt(t, onDisk(f, "a", 0), []byte("x")) // and with it nothing else, as it is no link
	if r, err := f.read("a", 1); err != nil || string(r.Data) != "older" {
		t.Fatalf("the older state is %q, %v", r.Data, err)
	}
	for _, old := range []driver.Revision{first, last} {
		if _, err := f.Save(t.Context(), "a", []byte("z"), old); !errors.Is(err, driver.ErrConflict) {
			t.Errorf("Save over revision %q of before the damage: %v", old, err)
		}
		if err := f.Delete(t.Context(), "a", old); !errors.Is(err, driver.ErrConflict) {
			t.Errorf("Delete of revision %q of before the damage: %v", old, err)
		}
	}
	at := expect(t, f, "a", "older", true)
	other := openTest(t, dir) // another process knows it, too
	if got := expect(t, other, "a", "older", true); got != at {
		t.Errorf("another process has revision %q, not %q", got, at)
	}
	save(t, other, "a", "newest", at)
	expect(t, f, "a", "newest", false)
}

func TestNothingSoundIsLeft(t *testing.T) {
	f := openTest(t, t.TempDir())
	var at driver.Revision
	for _, data := range []string{"one", "two", "three"} {
		at = save(t, f, "a", data, at)
	}
	// The older states are sound: the oldest comes back.
	hurt(t, onDisk(f, "a", 0), []byte("x"))
	hurt(t, onDisk(f, "a", 1), []byte("y"))
	expect(t, f, "a", "one", true)
	for state := range states {
		hurt(t, onDisk(f, "a", state), []byte("z"))
	}
	if _, err := f.Load(t.Context(), "a"); !errors.Is(err, driver.ErrDamaged) {
		t.Errorf("Load with all states damaged: %v", err)
	}
	if _, err := f.Load(t.Context(), "a"); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("second Load with all states damaged: %v", err)
	}
	if got := files(t, f, damagedDir); len(got) != 5 {
		t.Errorf("moved aside are %q, want 5 files", got)
	}
	if _, err := f.Save(t.Context(), "a", []byte("z"), at); !errors.Is(err, driver.ErrConflict) {
		t.Errorf("Save over what was lost: %v", err)
	}
	save(t, f, "a", "again", "")
	expect(t, f, "a", "again", false)
}

// A new login is saved in the place of a record of which nothing is left.
func TestSaveOverDamage(t *testing.T) {
	f := openTest(t, t.TempDir())
	save(t, f, "a", "one", "")
	hurt(t, onDisk(f, "a", 0), nil)
	save(t, f, "a", "new", "")
	expect(t, f, "a", "new", false)
	if got := files(t, f, damagedDir); len(got) != 1 {
		t.Errorf("moved aside are %q, want 1 file", got)
	}
}

func TestSwappedFiles(t *testing.T) {
	f := openTest(t, t.TempDir())
	save(t, f, "alice", "of alice", "")
	save(t, f, "bob", "of bob", "")
	hurt(t, onDisk(f, "bob", 0), readFile(t, onDisk(f, "alice", 0)))
	if r, err := f.Load(t.Context(), "bob"); !errors.Is(err, driver.ErrDamaged) {
		t.Errorf("bob's record is %q, %v", r.Data, err)
	}
	expect(t, f, "alice", "of alice", false)
}

// TestKilledWhileRestoring stops between moving a file aside and restoring.
func TestKilledWhileRestoring(t *testing.T) {
	for _, first := range []string{"load", "save"} {
		f := openTest(t, t.TempDir())
		at := save(t, f, "a", "older", "")
		save(t, f, "a", "newer", at)
		if err := f.setAside("a", 0, "test"); err != nil {
			t.Fatal(err)
		}
		listed := 0
		for name, err := range f.Names(t.Context(), "") {
			if name != "a" || err != nil {
				t.Errorf("listed %q, %v", name, err)
			}
			listed++
		}
		if listed != 1 {
			t.Errorf("%d records are listed", listed)
		}
		if first == "save" {
			if _, err := f.Save(t.Context(), "a", []byte("x"), ""); !errors.Is(err, driver.ErrConflict) {
				t.Errorf("Save of a new record before it is restored: %v", err)
			}
		}
		expect(t, f, "a", "older", true)
	}
}

// TestKilledWhileDeleting stops after the older states are gone.
func TestKilledWhileDeleting(t *testing.T) {
	f := openTest(t, t.TempDir())
	at := save(t, f, "a", "older", "")
	at = save(t, f, "a", "newer", at)
	if err := os.Remove(onDisk(f, "a", 1)); err != nil {
		t.Fatal(err)
	}
	expect(t, f, "a", "newer", false)
	if err := f.Delete(t.Context(), "a", at); err != nil {
		t.Error(err)
	}
}

func TestFileOfLaterVersion(t *testing.T) {
	f := openTest(t, t.TempDir())
	save(t, f, "a", "x", "")
	path := onDisk(f, "a", 0)
	raw := readFile(t, path)
	raw[atVersion]++
	raw = sum(raw[:len(raw)-32])
	hurt(t, path, raw)
	var e *Error
	if _, err := f.Load(t.Context(), "a"); !errors.Is(err, errNewer) || !errors.As(err, &e) || e.Cure == "" {
		t.Errorf("Load: %v", err)
	}
	if _, err := f.Save(t.Context(), "a", nil, ""); !errors.Is(err, errNewer) {
		t.Errorf("Save: %v", err)
	}
	if !bytes.Equal(readFile(t, path), raw) {
		t.Error("the file of a later version was touched")
	}
}
