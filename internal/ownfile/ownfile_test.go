//go:build unix

package ownfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestRead(t *testing.T) {
	uid := os.Geteuid()
	root := uid == 0 // which may give files to others
	for _, test := range []struct {
		name   string
		rule   Rule
		root   bool // needs to be root
		make   func(t *testing.T, file string) string
		unsafe bool
	}{
		{"as it should be", Private, false, func(t *testing.T, file string) string { return file }, false},
		{"a link in the same folder", Private, false, func(t *testing.T, file string) string {
			link := filepath.Join(filepath.Dir(file), "link")
			assert.OK(t, os.Symlink(file, link))
			return link
		}, false},
		{"others may read it", Private, false, mode(0o604), true},
		{"others may read it, who may", Own, false, mode(0o644), false},
		{"others may write to it", Own, false, mode(0o606), true},
		{"the group of the user's number may write to it", Own, true, mode(0o660), true},
		{"the group of the user's number may write to what is committed", Committed, true, mode(0o660), false},
		{"another group may write to what is committed", Committed, true, func(t *testing.T, file string) string {
			assert.OK(t, os.Chown(file, uid, 12345))
			return mode(0o660)(t, file)
		}, true},
		{"it belongs to another user", Own, true, func(t *testing.T, file string) string {
			assert.OK(t, os.Chown(file, 12345, 12345))
			return file
		}, true},
		{"others may put another one there", Own, false, func(t *testing.T, file string) string {
			assert.OK(t, os.Chmod(filepath.Dir(file), 0o777))
			return file
		}, true},
		{"others may make files beside it", Own, false, func(t *testing.T, file string) string {
			assert.OK(t, os.Chmod(filepath.Dir(file), 0o777|os.ModeSticky))
			return file
		}, false},
		{"others may put another link there", Own, false, func(t *testing.T, file string) string {
			dir := t.TempDir()
			assert.OK(t, os.Symlink(file, filepath.Join(dir, "link")))
			assert.OK(t, os.Chmod(dir, 0o777))
			return filepath.Join(dir, "link")
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.root && !root {
				t.Skip("only root may do it")
			}
			file := filepath.Join(t.TempDir(), "file")
			assert.OK(t, os.WriteFile(file, []byte("text"), 0o600))
			path := test.make(t, file)
			data, err := Read(path, 10, test.rule)
			f := assert.Value(os.Open(path))(t)
			open := CheckOpen(f)
			assert.OK(t, f.Close())
			if test.unsafe {
				assert.As[Unsafe](t, err)
				assert.Equal(t, len(data), 0, "bytes of a file that is not relied on")
				assert.Equal(t, open == nil, test.rule == Private, "an open file is relied on")
				return
			}
			assert.OK(t, err)
			assert.Equal(t, open == nil, test.rule != Committed, "an open file is relied on")
			assert.Equal(t, string(data), "text")
		})
	}
}

func mode(m os.FileMode) func(*testing.T, string) string {
	return func(t *testing.T, file string) string {
		assert.OK(t, os.Chmod(file, m))
		return file
	}
}

func TestReadIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.OK(t, os.WriteFile(file, []byte("more than ten bytes"), 0o600))
	for _, path := range []string{file, "/dev/zero", filepath.Dir(file)} {
		assert.Fails(t, assert.Err(Read(path, 10, Own)), path)
	}
	assert.True(t, errors.Is(assert.Err(Read(file+"x", 10, Own)), os.ErrNotExist), "the error of a file that is not there")
}
