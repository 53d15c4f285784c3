//go:build release

package release

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// forget removes a version of the modules of this repository from a module cache. The go
// command can only remove everything.
func forget(cache, version string) error {
	sources := filepath.Join(cache, filepath.FromSlash(filepath.Dir(module)))
	downloads := filepath.Join(cache, "cache", "download", filepath.FromSlash(filepath.Dir(module)))
	for _, top := range []string{sources, downloads} {
		var folders []string
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case !d.IsDir():
				return forgetFile(path, version)
			case strings.HasSuffix(path, "@"+version):
				if err := removeReadOnly(path); err != nil {
					return err
				}
				return fs.SkipDir
			case !strings.Contains(path, "@") || d.Name() == "@v":
				folders = append(folders, path)
				return nil
			}
			return fs.SkipDir // another version
		})
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		for _, f := range slices.Backward(folders) {
			_ = os.Remove(f) // if it is empty
		}
	}
	return nil
}

// forgetFile removes a file of the version, or what a list says of it.
func forgetFile(path, version string) error {
	if strings.HasPrefix(filepath.Base(path), version+".") {
		return os.Remove(path)
	}
	if filepath.Base(path) != "list" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kept := strings.ReplaceAll("\n"+string(data), "\n"+version+"\n", "\n")[1:]
	if kept == "" {
		return os.Remove(path)
	}
	return os.WriteFile(path, []byte(kept), 0o644)
}

// removeReadOnly removes a folder of the module cache, which nothing may be written to.
func removeReadOnly(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

func TestForget(t *testing.T) {
	cache := t.TempDir()
	const downloads = "cache/download/" + module
	write(t, cache, map[string]string{
		module + "@v1.0.0/go.mod":                "",
		module + "@v1.0.0-test/mcp/mcp.go":       "",
		module + "/host/x@v1.0.0-test/go.mod":    "",
		downloads + "/@v/list":                   "v1.0.0\nv1.0.0-test\n",
		downloads + "/@v/v1.0.0.mod":             "",
		downloads + "/@v/v1.0.0-test.mod":        "",
		downloads + "/host/x/@v/list":            "v1.0.0-test\n",
		downloads + "/host/x/@v/v1.0.0-test.zip": "",
		"github.com/other/other@v1.0.0-test/a":   "",
	})
	for _, dir := range []string{"/mcp", ""} {
		assert.OK(t, os.Chmod(filepath.Join(cache, filepath.FromSlash(module+"@v1.0.0-test"+dir)), 0o555))
	}
	assert.OK(t, forget(cache, "v1.0.0-test"))
	var got []string
	assert.OK(t, fs.WalkDir(os.DirFS(cache), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, name)
		}
		return err
	}))
	want := []string{
		downloads + "/@v/list",
		downloads + "/@v/v1.0.0.mod",
		module + "@v1.0.0/go.mod",
		"github.com/other/other@v1.0.0-test/a",
	}
	assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	assert.Equal(t, string(assert.Value(os.ReadFile(filepath.Join(cache, filepath.FromSlash(downloads), "@v", "list")))(t)), "v1.0.0\n")
	assert.Is(t, assert.Err(os.Stat(filepath.Join(cache, filepath.FromSlash(downloads), "host"))), fs.ErrNotExist)
}
