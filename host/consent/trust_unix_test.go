//go:build unix

package consent_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// decided returns a book in a file of its own, below a folder of its own, in which a launch
// is approved and which was read since.
func decided(t *testing.T, path string) (*consent.Book, *consent.Launch) {
	t.Helper()
	b, l := open(t, path), launch("x")
	assert.OK(t, b.Decide(t.Context(), "ann", l, consent.Approved))
	old := time.Now().Add(-time.Hour)
	assert.OK(t, os.Chtimes(path, old, old))
	for range 2 { // the second time it is not read
		wantVerdict(t, b, l, consent.Approved)
	}
	return b, l
}

// TestBookOfOthers: what others may write, or have written, approves nothing, and is not
// written to. The error names the file and the cure.
func TestBookOfOthers(t *testing.T) {
	dir := func(path string) string { return filepath.Dir(path) }
	for _, test := range []struct {
		name, cure string
		spoil      func(path string) error
		cured      func(path string) error
	}{
		{"the group may write", "chmod 600", func(p string) error { return os.Chmod(p, 0o620) }, func(p string) error { return os.Chmod(p, 0o600) }},
		{"all may write", "chmod 600", func(p string) error { return os.Chmod(p, 0o666) }, func(p string) error { return os.Chmod(p, 0o644) }},
		{"a folder of the group", "chmod 700", func(p string) error { return os.Chmod(dir(p), 0o770) }, func(p string) error { return os.Chmod(dir(p), 0o700) }},
		{"a folder of all", "chmod 700", func(p string) error { return os.Chmod(dir(p), 0o777) }, func(p string) error { return os.Chmod(dir(p), os.ModeSticky|0o777) }},
		{"another owner", "remove it", func(p string) error { return os.Chown(p, 54321, -1) }, func(p string) error { return os.Chown(p, os.Getuid(), -1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "consents.json")
			b, l := decided(t, path)
			if err := test.spoil(path); errors.Is(err, os.ErrPermission) {
				t.Skip("only root gives files away")
			} else if err != nil {
				t.Fatal(err)
			}
			before := assert.Value(os.ReadFile(path))(t)
			verdict, verdictErr := b.Verdict(t.Context(), l)
			assert.Equal(t, verdict, consent.Pending, "the verdict")
			_, openErr := consent.Open(path)
			for what, err := range map[string]error{
				"Verdict": verdictErr, "Open": openErr, "Decide": b.Decide(t.Context(), "ann", launch("y"), consent.Approved),
			} {
				assert.Equal(t, assert.As[*consent.Error](t, err, "%s", what).File, path, "%s: the file", what)
				assert.Contains(t, err.Error(), test.cure, "%s: the cure", what)
			}
			assert.Equal(t, string(assert.Value(os.ReadFile(path))(t)), string(before), "the file")
			assert.OK(t, test.cured(path))
			wantVerdict(t, b, l, consent.Approved)
		})
	}
}

// TestBookBehindALink: neither the folder of a link nor that of what it leads to may be one
// in which others write.
func TestBookBehindALink(t *testing.T) {
	for _, open := range []string{"link", "file"} {
		top := t.TempDir()
		for _, folder := range []string{"link", "file"} {
			assert.OK(t, os.Mkdir(filepath.Join(top, folder), 0o700))
		}
		path := filepath.Join(top, "link", "consents.json")
		assert.OK(t, os.Symlink(filepath.Join("..", "file", "consents.json"), path))
		b, l := decided(t, path)
		assert.OK(t, os.Chmod(filepath.Join(top, open), 0o777))
		verdict, err := b.Verdict(t.Context(), l)
		assert.Equal(t, verdict, consent.Pending, "the folder of the %s is open: got the verdict", open)
		assert.Fails(t, err, "the folder of the %s is open: got the verdict", open)
	}
}

// TestNoBookInAFolderOfOthers: where others could put another one, none is made.
func TestNoBookInAFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	assert.OK(t, os.Chmod(dir, 0o777))
	path := filepath.Join(dir, "consents.json")
	err := open(t, path).Decide(t.Context(), "ann", launch("x"), consent.Approved)
	assert.As[*consent.Error](t, err)
	assert.Contains(t, err.Error(), "chmod 700", "the cure")
	assert.Is(t, assert.Err(os.Lstat(path)), os.ErrNotExist, "file")
}
