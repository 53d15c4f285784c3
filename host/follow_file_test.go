package host_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
)

// A changedFile is a file that is replaced, so that a change is seen whatever its times are.
type changedFile struct {
	testing.TB
	path string
	n    int
}

func (f *changedFile) put() {
	f.Helper()
	f.n++ // another size: in a bubble two writes can have the same time
	if err := os.WriteFile(f.path+".new", make([]byte, f.n), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		f.Fatal(err)
	}
}

// newChangedFiles returns files of which only the first is there.
func newChangedFiles(t *testing.T, names ...string) (files []*changedFile, paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		files, paths = append(files, &changedFile{TB: t, path: path}), append(paths, path)
	}
	files[0].put()
	return files, paths
}

// told collects what is told while act runs, as the files' names.
func told(t *testing.T, paths []string, act func()) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for changed := range host.FileChanges(paths...)(ctx) {
			var names []string
			for _, path := range changed {
				names = append(names, filepath.Base(path))
			}
			all = append(all, strings.Join(names, "+"))
		}
	}()
	synctest.Wait()
	act()
	cancel()
	<-done
	return strings.Join(all, " ")
}

// FileChanges tells of each file that comes, changes or goes, together if that is so.
func TestFileChanges(t *testing.T) {
	files, paths := newChangedFiles(t, "a", "b")
	synctest.Test(t, func(t *testing.T) {
		got := told(t, paths, func() {
			time.Sleep(time.Minute) // nothing
			files[0].put()
			time.Sleep(time.Minute)
			files[1].put()
			files[0].put()
			time.Sleep(time.Minute)
			if err := os.Remove(paths[1]); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		})
		if want := "a+b a a+b b"; got != want {
			t.Errorf("got %q told, want %q", got, want)
		}
	})
}

// A file that is never left alone is told of all the same.
func TestFileChangesOfAFileThatIsNeverLeftAlone(t *testing.T) {
	files, paths := newChangedFiles(t, "a")
	synctest.Test(t, func(t *testing.T) {
		got := told(t, paths, func() {
			time.Sleep(time.Second / 2) // between two looks
			for range 50 {
				files[0].put()
				time.Sleep(time.Second)
			}
		})
		if want := "a a a"; got != want {
			t.Errorf("got %q told, want %q: at first, and twice in 50 seconds", got, want)
		}
	})
}

// Another target of a link is a change, and a path counts as it was given, from where the
// program was then.
func TestFileChangesOfALink(t *testing.T) {
	files, paths := newChangedFiles(t, "a", "b")
	files[1].put()
	dir := filepath.Dir(paths[0])
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	t.Chdir(dir)
	changes := host.FileChanges("link")
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for changed := range changes(ctx) {
			if got := strings.Join(changed, " "); got != "link" {
				t.Errorf("got %q told, want link", got)
			}
			if n++; n == 2 {
				break
			}
			if err := os.Remove(filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("b", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// No files never change, and a range over what has ended ends.
func TestFileChangesOfNothing(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("ended"))
	for range host.FileChanges()(t.Context()) {
		t.Error("got a change of no files, want none")
	}
	for range host.FileChanges("a")(ended) {
		t.Error("got a change after the end, want none")
	}
}

// Open follows its file if it is told to, and only as long as it is sound.
func TestOpenFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	for name, follow := range map[string]bool{"followed": true, "not followed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				put := func(text string) {
					t.Helper()
					// Beside it and over it, as editors do: a file in which a time is the same is
					// another one all the same.
					if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(path+".new", path); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
				}
				var log lockedBuffer
				put(servers("a", "b"))
				opts := fakes(&host.Options{Follow: follow})
				opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
				h := open(t, path, opts)
				want := func(what string, names ...string) {
					t.Helper()
					if !follow {
						names = []string{"a", "b"}
					}
					var got []string
					for _, s := range h.Servers() {
						if s.Stage == host.StageReady {
							got = append(got, s.Name)
						}
					}
					if !slices.Equal(got, names) {
						t.Errorf("%s: got %q, want %q", what, got, names)
					}
				}
				want("at first", "a", "b")
				put(servers("b", "c"))
				want("after a change", "b", "c")
				log.take()
				put(`{"mcpServers": {"b": {`)
				want("half-written", "b", "c")
				if got := strings.Count(log.take(), "has an error"); got != 1 && follow {
					t.Errorf("the error was logged %d times, want once", got)
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				want("without a file", "b", "c")
				put(servers("c"))
				want("with a file again", "c")
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A file that is being written is read when it is whole.
func TestFollowWaitsForTheEndOfTheFile(t *testing.T) {
	path := write(t, "a", `{"command": "x"}`)
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		opts := fakes(&host.Options{Follow: true})
		opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := open(t, path, opts)
		text := servers("b", "c", "d")
		for i := range len(text) {
			if err := os.WriteFile(path, []byte(text[:i+1]), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if got := names(h); got != "b__echo c__echo d__echo" {
			t.Errorf("got tools %s, want those of b, c and d", got)
		}
		if got := log.take(); strings.Contains(got, "error") {
			t.Errorf("got log %s, want no error", got)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}
