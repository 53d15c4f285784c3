package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLedgerStores holds stores to what Store promises.
func TestLedgerStores(t *testing.T) {
	for name, store := range map[string]Store{
		"file":   &ledgerFile{path: ledgerPath(t), patience: lockPatience},
		"memory": &countingStore{},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			save := func(text, old string) (string, error) {
				t.Helper()
				if s, ok := store.(ledgerLocker); ok {
					unlock, err := s.lock(ctx)
					if err != nil {
						t.Fatal(err)
					}
					defer unlock()
				}
				return store.Save(ctx, []byte(text), old)
			}
			load := func(known, want, at string) {
				t.Helper()
				data, got, err := store.Load(ctx, known)
				if err != nil || got != at || got != known && string(data) != want {
					t.Errorf("loaded %q at %q, %v; want %q at %q", data, got, err, want, at)
				}
			}
			load("", "", "")
			load("gone", "", "")
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
			for _, old := range []string{"", one, "other"} {
				if at, err := save("three", old); !errors.Is(err, ErrConflict) {
					t.Errorf("saved over %q: %q, %v", old, at, err)
				}
			}
			load(one, "two", two)
			again, err := save("one", two)
			if err != nil {
				t.Fatal(err)
			}
			load(two, "one", again)
		})
	}
}

// A file that was changed just now may change again without looking different; one
// that has rested is not read again.
func TestFileOfOneLook(t *testing.T) {
	path := ledgerPath(t)
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
			f := &ledgerFile{path: path}
			at := time.Now().Add(-c.age)
			write("one", at)
			_, known, err := f.Load(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			write("two", at)
			data, now, err := f.Load(t.Context(), known)
			if read := string(data) == "two"; err != nil || read != c.read || (now != known) != c.read {
				t.Errorf("%q at %q, %v; known was %q", data, now, err, known)
			}
			write("three", at)
			if data, _, err := f.Load(t.Context(), known); err != nil || string(data) != "three" {
				t.Errorf("of another length: %q, %v", data, err)
			}
		})
	}
}

// What cannot be a ledger at all is an error, not an empty ledger.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	var bad *Error
	if _, err := Open(dir, nil); !errors.As(err, &bad) || bad.File != dir {
		t.Errorf("a folder: %v", err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err == nil {
		if _, err := Open(loop, nil); !errors.As(err, &bad) {
			t.Errorf("a link to itself: %v", err)
		}
	}
	if _, err := Open(ledgerPath(t), &Options{Mode: "lax"}); err == nil || !strings.Contains(err.Error(), "trust, pin or review") {
		t.Errorf("an unknown mode: %v", err)
	}
	below := filepath.Join(dir, "file", "mcp.lock.json")
	if err := os.WriteFile(filepath.Dir(below), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(below, nil); err == nil {
		if err := l.Record(context.Background(), Server{Name: "s"}, nil); !errors.As(err, &bad) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file for a folder: %v", err)
		}
	}
}
