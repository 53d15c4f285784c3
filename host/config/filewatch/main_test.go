package filewatch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/config/filewatch"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(starvedFile); path != "" {
		followStarved(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds what a test waits for.
const patience = 20 * time.Second

// soon has changes told at once, by the operating system alone.
var soon = &filewatch.Options{Quiet: 20 * time.Millisecond, Poll: -1}

// looking has changes found by looking alone.
var looking = &filewatch.Options{Quiet: 5 * time.Millisecond, Poll: 10 * time.Millisecond, PollOnly: true}

// A follower ranges over the changes of files.
type follower struct {
	t    *testing.T
	next chan told
}

// A told is one yield, with what a consumer has read of the first file then.
type told struct {
	paths []string
	text  string
}

// content returns what is in a file, or "".
func content(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// follow watches files, and returns when they are watched.
func follow(t *testing.T, opts *filewatch.Options, paths ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	f := &follower{t: t, next: make(chan told)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(f.next)
		for changed := range filewatch.Files(paths, opts)(ctx) {
			select {
			case f.next <- told{changed, content(paths[0])}:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	f.tells(paths...)
	return f
}

// tells waits for the next change, which must be of these files.
func (f *follower) tells(paths ...string) {
	f.t.Helper()
	changed, ok := <-f.next
	if !ok {
		f.t.Fatal("no change was told")
	}
	if got, want := strings.Join(changed.paths, " "), strings.Join(paths, " "); got != want {
		f.t.Fatalf("told of %q, want %q", got, want)
	}
}

// hears waits until each of these files was told of. They may be told of one by one, and
// others again: who stalls between two steps lets the files alone meanwhile.
func (f *follower) hears(paths ...string) {
	f.t.Helper()
	missing := slices.Clone(paths)
	for len(missing) > 0 {
		changed, ok := <-f.next
		if !ok {
			f.t.Fatalf("not told of %q", missing)
		}
		missing = slices.DeleteFunc(missing, func(path string) bool { return slices.Contains(changed.paths, path) })
	}
}

// loads waits until a consumer has read this text.
func (f *follower) loads(text string) {
	f.t.Helper()
	for changed := range f.next {
		if changed.text == text {
			return
		}
	}
	f.t.Fatalf("nobody has read %q", text)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
