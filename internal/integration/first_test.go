//go:build integration && unix

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestFirstProgram copies the first program of the README into an empty module, and runs
// it with the servers of npm that it names.
func TestFirstProgram(t *testing.T) {
	root := assert.Value(filepath.Abs("../.."))(t)
	readme := read(t, filepath.Join(root, "README.md"))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go":  between(t, readme, "```go\n", "```\n"),
		"mcp.json": between(t, readme, "```json\n", "```\n"),
		"go.mod": "module first\n\ngo 1.26\n\nrequire github.com/mcpbelt/mcpbelt v0.1.0\n\n" +
			"replace github.com/mcpbelt/mcpbelt => " + root + "\n",
		"go.sum": read(t, filepath.Join(root, "go.sum")),
	} {
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	// npx takes what is installed there, and downloads nothing.
	assert.OK(t, os.Symlink(nodeModules(t, "npm"), filepath.Join(dir, "node_modules")))
	run := exec.CommandContext(ctxFor(t), "go", "run", ".")
	run.Dir = dir
	run.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off", "npm_config_offline=true", "XDG_STATE_HOME="+t.TempDir())
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(between(t, readme, "It prints\n\n", "\n\nThe servers of a file")) {
		if line = strings.TrimSpace(line); !strings.Contains(string(out), line) {
			t.Errorf("it printed\n%s\nwhich lacks %q", out, line)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := assert.Value(os.ReadFile(path))(t)
	return string(text)
}

// between returns what stands between two marks of a text.
func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, rest, begins := strings.Cut(text, begin)
	part, _, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("README.md has nothing between %q and %q", begin, end)
	}
	return part
}
