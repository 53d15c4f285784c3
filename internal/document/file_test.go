package document

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

// newFile returns a file that does not exist, in a folder that does not either.
func newFile(t *testing.T) *File {
	return &File{Path: filepath.Join(t.TempDir(), "new", "document"), Most: 1 << 20, Patience: time.Hour}
}

// TestKeepers holds a File, and a store, to what a Keeper promises.
func TestKeepers(t *testing.T) {
	for name, keeper := range map[string]Keeper{"file": newFile(t), "store": storage.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			save := func(text string, old storage.Revision) (storage.Revision, error) {
				t.Helper()
				unlock := assert.Value(keeper.(storage.Locker).Lock(t.Context(), "a"))(t)
				defer unlock()
				return keeper.Save(t.Context(), "a", []byte(text), old)
			}
			load := func(known storage.Revision, want string, at storage.Revision) {
				t.Helper()
				r := assert.Value(keeper.Load(t.Context(), "a", known))(t)
				assert.Equal(t, r.Revision, at, "the revision")
				if r.Revision != known {
					assert.Equal(t, string(r.Data), want, "the data")
				}
			}
			for _, known := range []storage.Revision{"", "gone"} {
				assert.Is(t, assert.Err(keeper.Load(t.Context(), "a", known)), storage.ErrNotFound)
			}
			assert.Is(t, assert.Err(save("none", "unknown")), storage.ErrConflict)
			one := assert.Value(save("one", ""))(t)
			load("", "one", one)
			load(one, "one", one)
			two := assert.Value(save("two", one))(t)
			assert.False(t, two == one, "two revisions are the same")
			for _, old := range []storage.Revision{"", one, "other"} {
				assert.Is(t, assert.Err(save("three", old)), storage.ErrConflict, "a save over %q", old)
			}
			load(one, "two", two)
			load(two, "one", assert.Value(save("one", two))(t))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.Is(t, assert.Err(keeper.Load(ctx, "a", "")), context.Canceled)
			assert.Is(t, assert.Err(keeper.(storage.Locker).Lock(ctx, "a")), context.Canceled)
		})
	}
}

// A file that was changed just now may change again without looking different; one
// that has rested is not read again.
func TestFileOfOneLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "document")
	write := func(text string, at time.Time) {
		t.Helper()
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
		assert.OK(t, os.Chtimes(path, at, at))
	}
	for name, c := range map[string]struct {
		age  time.Duration
		read bool
	}{"new": {-time.Minute, true}, "rested": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			f := &File{Path: path, Most: 1 << 20}
			at := time.Now().Add(-c.age)
			write("one", at)
			known := assert.Value(f.Load(t.Context(), "", ""))(t)
			write("two", at)
			now := assert.Value(f.Load(t.Context(), "", known.Revision))(t)
			assert.Equal(t, string(now.Data) == "two", c.read, "%q is what was written", now.Data)
			assert.Equal(t, now.Revision != known.Revision, c.read, "%q is another revision", now.Revision)
			write("three", at)
			assert.Equal(t, string(assert.Value(f.Load(t.Context(), "", known.Revision))(t).Data), "three")
		})
	}
}

func TestNewFileIsOwners(t *testing.T) {
	f := newFile(t)
	unlock := assert.Value(f.Lock(t.Context(), ""))(t)
	defer unlock()
	assert.Value(f.Save(t.Context(), "", []byte("x"), ""))(t)
	info := assert.Value(os.Stat(f.Path))(t)
	if filepath.Separator == '/' {
		assert.Equal(t, info.Mode().Perm(), 0o600, "the mode")
	}
}

// A process that holds the lock of the folder for as long as it likes is waited for until
// that can be told.
func TestLockHeld(t *testing.T) {
	f := newFile(t)
	f.Patience = time.Millisecond
	assert.OK(t, os.MkdirAll(filepath.Dir(f.Path), 0o700))
	resolved := assert.Value(atomicfile.Resolve(f.Path))(t)
	unlock := assert.Value(atomicfile.Lock(t.Context(), resolved))(t)
	defer unlock()
	assert.Is(t, assert.Err(f.Lock(t.Context(), "")), ErrLocked)
	assert.Is(t, assert.Err(f.Load(t.Context(), "", "")), storage.ErrNotFound)
}

// TestFileKnowsWhatItSaved saves without reading back, and sees at once what others write
// in the place of it, however soon and of the same length.
func TestFileKnowsWhatItSaved(t *testing.T) {
	f := newFile(t)
	unlock, err := f.Lock(t.Context(), "")
	assert.OK(t, err)
	defer unlock()
	var at storage.Revision
	for i := range assert.Cases(20, 200) {
		text := fmt.Sprintf("%03d", i)
		at = assert.Value(f.Save(t.Context(), "", []byte(text), at))(t)
		same := assert.Value(f.Load(t.Context(), "", at))(t)
		assert.Equal(t, same.Revision, at, "the revision")
		assert.Equal(t, len(same.Data), 0, "bytes of what is known")
		assert.OK(t, os.WriteFile(f.Path, []byte("abc"), 0o600))
		r, err := f.Load(t.Context(), "", at)
		assert.OK(t, err)
		assert.Equal(t, string(r.Data), "abc")
		assert.Is(t, assert.Err(f.Save(t.Context(), "", []byte("xyz"), at)), storage.ErrConflict)
		at = r.Revision
	}
}

// TestLockIsLeftToOthers writes without a break, 5 ms each time: the lock is left to others
// for 3 ms after each 50 ms, and is taken back at once otherwise.
func TestLockIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile(t)
		var unlocked time.Time
		var gaps []time.Duration
		for range 40 {
			unlock := assert.Value(f.Lock(t.Context(), ""))(t)
			if now := time.Now(); !unlocked.IsZero() {
				gaps = append(gaps, now.Sub(unlocked))
			}
			time.Sleep(5 * time.Millisecond)
			unlock()
			unlocked = time.Now()
		}
		left := 0
		for i, gap := range gaps {
			switch gap {
			case 0:
			case lockCourtesy:
				left++
			default:
				t.Errorf("got %v between locks %d and %d, want none or %v", gap, i, i+1, lockCourtesy)
			}
		}
		assert.Equal(t, left, 3, "times that the lock is left, in 200 ms")
	})
}
