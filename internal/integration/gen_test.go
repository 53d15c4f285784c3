//go:build integration && unix

package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What mcpbelt gen go writes for real servers compiles, passes go vet and calls their tools,
// with arguments and results that have types.
func TestGeneratedPackages(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	servers := []struct {
		name    string
		command []string
	}{
		{"everything", []string{"node", script(t, "everything"), "stdio"}},
		{"filesystem", []string{"node", script(t, "filesystem"), data}},
		{"memory", []string{"env", "MEMORY_FILE_PATH=" + filepath.Join(data, "memory.jsonl"), "node", script(t, "memory")}},
		{"thinking", []string{"env", "DISABLE_THOUGHT_LOGGING=true", "node", script(t, "sequential-thinking")}},
		{"gosdk", []string{program(t, sdkServer)}},
	}
	core := assert.Value(filepath.Abs("../.."))(t)
	belt := filepath.Join(dir, "mcpbelt")
	runIn(t, filepath.Join(core, "cmd", "mcpbelt"), commandFlags, "go", "build", "-o", belt, ".")
	assert.OK(t, os.Mkdir(data, 0o700))
	args := []string{"run", ".", data}
	for _, s := range servers {
		pkg := filepath.Join(dir, "generated", s.name)
		assert.OK(t, os.MkdirAll(pkg, 0o700))
		runIn(t, dir, "", belt, append([]string{"gen", "go", "--package", s.name, "--out", filepath.Join(pkg, "generated.go"), "--"}, s.command...)...)
		args = append(args, string(assert.Value(json.Marshal(s.command))(t)))
	}
	module := filepath.Join(dir, "generated")
	copyFile(t, "testdata/generated/main.go", filepath.Join(module, "main.go"), "", "")
	copyFile(t, filepath.Join(core, "go.sum"), filepath.Join(module, "go.sum"), "", "")
	copyFile(t, filepath.Join(core, "go.mod"), filepath.Join(module, "go.mod"), "module github.com/mcpbelt/mcpbelt",
		"module generated\nrequire github.com/mcpbelt/mcpbelt v0.0.0\nreplace github.com/mcpbelt/mcpbelt => "+core)
	flags := os.Getenv("GOFLAGS")
	runIn(t, module, flags, "go", "vet", "./...")
	got := runIn(t, module, flags, "go", args...)
	want := `sum The sum of 2 and 40 is 42. <nil>
weather Light rain / drizzle true <nil>
image image/png true
links 3
no city true
head one <nil>
whole "one\n2\nthree\n" <nil>
no file true
created 2 <nil>
graph Ada [wrote programs] [] programs
none 0 <nil>
thought 1 2 true <nil>
text This is a simple text response for testing. <nil>
schema <nil>
error true
`
	assert.Equal(t, got, want)
}

// commandFlags are those that .ci/goflags gives the module of the command: it is compiled with them
// anyway.
const commandFlags = "-gcflags=all=-dwarf=false"

// runIn runs a program in a folder, with flags for the go command, and returns what it wrote.
func runIn(t *testing.T, dir, flags, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags+" -mod=mod", "GOWORK=off", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	assert.OK(t, cmd.Run(), "%s %s: %s%s", name, args[0], out.String(), log.String())
	return out.String()
}

// copyFile copies a file, with a text replaced by another.
func copyFile(t *testing.T, from, to, old, replacement string) {
	t.Helper()
	assert.OK(t, os.WriteFile(to, []byte(strings.Replace(string(assert.Value(os.ReadFile(from))(t)), old, replacement, 1)), 0o600))
}
