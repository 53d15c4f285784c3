package filewatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A changedFile is a file that is replaced, so that a change is seen whatever its times are.
type changedFile struct {
	testing.TB
	path string
	n    int
}

func (f *changedFile) put() {
	f.Helper()
	f.n++ // another size: in a bubble two writes can have the same time
	assert.OK(f, os.WriteFile(f.path+".new", make([]byte, f.n), 0o600))
	assert.OK(f, os.Rename(f.path+".new", f.path))
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
	ctx, cancel := context.WithCancel(t.Context())
	var all []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for changed := range Changes(paths, nil)(ctx) {
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
func TestChanges(t *testing.T) {
	files, paths := newChangedFiles(t, "a", "b")
	synctest.Test(t, func(t *testing.T) {
		got := told(t, paths, func() {
			time.Sleep(time.Minute) // nothing
			files[0].put()
			time.Sleep(time.Minute)
			files[1].put()
			files[0].put()
			time.Sleep(time.Minute)
			assert.OK(t, os.Remove(paths[1]))
			time.Sleep(time.Minute)
		})
		assert.Equal(t, got, "a+b a a+b b", "told")
	})
}

// A file that is never left alone is told of all the same.
func TestChangesOfAFileThatIsNeverLeftAlone(t *testing.T) {
	files, paths := newChangedFiles(t, "a")
	synctest.Test(t, func(t *testing.T) {
		got := told(t, paths, func() {
			time.Sleep(time.Second / 2) // between two looks
			for range 50 {
				files[0].put()
				time.Sleep(time.Second)
			}
		})
		assert.Equal(t, got, "a a a", "told at first, and twice in 50 seconds")
	})
}

// Another target of a link is a change, and a path counts as it was given, from where the
// program was then.
func TestChangesOfALink(t *testing.T) {
	files, paths := newChangedFiles(t, "a", "b")
	files[1].put()
	dir := filepath.Dir(paths[0])
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	t.Chdir(dir)
	changes := Changes([]string{"link"}, nil)
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for changed := range changes(ctx) {
			assert.Equal(t, strings.Join(changed, " "), "link", "told")
			if n++; n == 2 {
				break
			}
			assert.OK(t, os.Remove(filepath.Join(dir, "link")))
			assert.OK(t, os.Symlink("b", filepath.Join(dir, "link")))
		}
	})
}

// No files never change, and a range over what has ended ends.
func TestChangesOfNothing(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("ended"))
	for range Changes(nil, nil)(t.Context()) {
		t.Error("got a change of no files, want none")
	}
	for range Changes([]string{"a"}, nil)(ended) {
		t.Error("got a change after the end, want none")
	}
}
