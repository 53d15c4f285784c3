package document

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

// newFile returns a file that does not exist, in a folder that does not either.
func newFile(t *testing.T) *File {
	return &File{Path: filepath.Join(t.TempDir(), "new", "document"), Most: 1 << 20}
}

// TestKeepers holds a File, and a store, to what a Keeper promises.
func TestKeepers(t *testing.T) {
	for name, keeper := range map[string]Keeper{"file": newFile(t), "store": storage.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			save := func(text string, old storage.Revision) (storage.Revision, error) {
				t.Helper()
				unlock, err := keeper.(storage.Locker).Lock(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				defer unlock()
				return keeper.Save(t.Context(), "a", []byte(text), old)
			}
			load := func(known storage.Revision, want string, at storage.Revision) {
				t.Helper()
				r, err := keeper.Load(t.Context(), "a", known)
				if err != nil || r.Revision != at || r.Revision != known && string(r.Data) != want {
					t.Errorf("got %q at %q, %v, want %q at %q", r.Data, r.Revision, err, want, at)
				}
			}
			for _, known := range []storage.Revision{"", "gone"} {
				if _, err := keeper.Load(t.Context(), "a", known); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("got %v of what is not there, want %v", err, storage.ErrNotFound)
				}
			}
			if _, err := save("none", "unknown"); !errors.Is(err, storage.ErrConflict) {
				t.Errorf("got %v for a save over what was never there, want %v", err, storage.ErrConflict)
			}
			one, err := save("one", "")
			if err != nil || one == "" {
				t.Fatal(one, err)
			}
			load("", "one", one)
			load(one, "one", one)
			two, err := save("two", one)
			if err != nil || two == one {
				t.Fatal(two, err)
			}
			for _, old := range []storage.Revision{"", one, "other"} {
				if at, err := save("three", old); !errors.Is(err, storage.ErrConflict) {
					t.Errorf("got %q, %v for a save over %q, want %v", at, err, old, storage.ErrConflict)
				}
			}
			load(one, "two", two)
			again, err := save("one", two)
			if err != nil {
				t.Fatal(err)
			}
			load(two, "one", again)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := keeper.Load(ctx, "a", ""); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v for a load after the end, want %v", err, context.Canceled)
			}
			if _, err := keeper.(storage.Locker).Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v for a lock after the end, want %v", err, context.Canceled)
			}
		})
	}
}

// A file that was changed just now may change again without looking different; one
// that has rested is not read again.
func TestFileOfOneLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "document")
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		age  time.Duration
		read bool
	}{"new": {-time.Minute, true}, "rested": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			f := &File{Path: path, Most: 1 << 20}
			at := time.Now().Add(-c.age)
			write("one", at)
			known, err := f.Load(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			write("two", at)
			now, err := f.Load(t.Context(), "", known.Revision)
			if read := string(now.Data) == "two"; err != nil || read != c.read || (now.Revision != known.Revision) != c.read {
				t.Errorf("got %q at %q, %v; %q was known", now.Data, now.Revision, err, known.Revision)
			}
			write("three", at)
			if now, err := f.Load(t.Context(), "", known.Revision); err != nil || string(now.Data) != "three" {
				t.Errorf("got %q, %v of another length, want three", now.Data, err)
			}
		})
	}
}

func TestNewFileIsOwners(t *testing.T) {
	f := newFile(t)
	unlock, err := f.Lock(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := f.Save(t.Context(), "", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Separator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("got the mode %v, want 0600", info.Mode().Perm())
	}
}

// A process that holds the lock of the folder for as long as it likes is waited for until
// that can be told.
func TestLockHeld(t *testing.T) {
	f := newFile(t)
	f.Patience = time.Millisecond
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	resolved, err := atomicfile.Resolve(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := atomicfile.Lock(t.Context(), resolved)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := f.Lock(t.Context(), ""); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want %v", err, ErrLocked)
	}
	if _, err := f.Load(t.Context(), "", ""); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("got %v for a load, want %v", err, storage.ErrNotFound)
	}
}
