//go:build release

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	root   = "../.." // of the repository, seen from this folder
	module = "github.com/mcpbelt/mcpbelt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A command is a program to run in a folder, with variables beside those of the test.
type command struct {
	dir string
	env []string
}

// output runs the program and returns what it writes to standard output and to standard
// error.
func (c command) output(t *testing.T, name string, args ...string) (stdout, stderr string, err error) {
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, append(os.Environ(), c.env...), &out, &errs
	err = cmd.Run()
	return strings.TrimSpace(out.String()), strings.TrimSpace(errs.String()), err
}

// run is like output, and fails the test if the program fails.
func (c command) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, errs, err := c.output(t, name, args...)
	assert.OK(t, err, "%s %s: %s", name, strings.Join(args, " "), errs)
	return out
}

// write writes files, given by their paths below the folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
}
