//go:build conformance && unix

package conformance

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/npmdir"
)

// A suite is the installed conformance suite and the client it is to test.
type suite struct {
	node   string // the Node.js to run it with
	script string // its program
	client string // command line of the client; the suite splits it at spaces
}

// newSuite installs the suite unless that was done before, and builds the client.
func newSuite(t *testing.T) *suite {
	t.Helper()
	cache := assert.Value(filepath.Abs("../../bin/conformance"))(t)
	modules := filepath.Join(assert.Value(npmdir.Install(t.Context(), "npm", cache))(t), "node_modules")
	st := &suite{
		node:   findNode(t, modules),
		script: filepath.Join(modules, "@modelcontextprotocol/conformance/dist/index.js"),
		client: os.Getenv("CONFORMANCE_CLIENT"),
	}
	if st.client == "" {
		st.client = build(t, cache, "./client")
		if strings.ContainsAny(st.client, " \t") {
			t.Fatalf("the suite cannot run a client below a folder with a space in its name: %s", st.client)
		}
	}
	return st
}

// build builds the program of a package into a folder, and returns its path.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	program := filepath.Join(dir, path.Base(pkg))
	args := []string{"build", "-o", program}
	if testIsRace() {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(t.Context(), "go", append(args, pkg)...).CombinedOutput()
	assert.OK(t, err, "go build %s: %s", pkg, out)
	return program
}

// testIsRace reports whether this test was built with -race; the programs then are, too.
func testIsRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// findNode returns the pinned Node.js, or where there is none for this
// machine, the one on the PATH. The suite needs version 22.
func findNode(t *testing.T, modules string) string {
	t.Helper()
	if found, _ := filepath.Glob(filepath.Join(modules, "node-*-*", "bin", "node")); len(found) > 0 {
		return found[0]
	}
	out, err := exec.CommandContext(t.Context(), "node", "-p", "process.versions.node.split('.')[0]>=22").Output()
	if err != nil || strings.TrimSpace(string(out)) != "true" {
		t.Fatalf("the suite needs Node.js 22 or newer on the PATH on this kind of machine (node: %q, %v)", out, err)
	}
	return "node"
}

func (s *suite) command(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, s.node, append([]string{s.script}, args...)...)
	// A client with the race detector would spend a second on its exit.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	// The suite starts the client through a shell: kill the whole group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (s *suite) version(t *testing.T) string {
	t.Helper()
	data := assert.Value(os.ReadFile(filepath.Join(filepath.Dir(s.script), "..", "package.json")))(t)
	var p struct{ Version string }
	assert.OK(t, json.Unmarshal(data, &p))
	return p.Version
}

// list returns the names of all client scenarios of the suite.
func (s *suite) list(t *testing.T) []string {
	t.Helper()
	out, err := s.command(t, "list", "--client").Output()
	assert.OK(t, err, "list --client")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^ +- (\S+)`).FindAllStringSubmatch(string(out), -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 {
		t.Fatalf("list --client names no scenario:\n%s", out)
	}
	return names
}

// A result is what one run of the suite left behind.
type result struct {
	dir    string
	output string
	err    error // nil if the suite exited with 0
}

// run runs scenarios with the client.
func (s *suite) run(t *testing.T, args ...string) *result {
	t.Helper()
	return s.runMode(t, "client", append([]string{"--command", s.client}, args...)...)
}

// runServer runs scenarios with the server at a URL.
func (s *suite) runServer(t *testing.T, url string, args ...string) *result {
	t.Helper()
	return s.runMode(t, "server", append([]string{"--url", url}, args...)...)
}

func (s *suite) runMode(t *testing.T, mode string, args ...string) *result {
	t.Helper()
	r := &result{dir: t.TempDir()}
	out, err := s.command(t, append([]string{mode, "-o", r.dir}, args...)...).CombinedOutput()
	r.output, r.err = string(out), err
	return r
}

// folders maps the names of the scenarios that ran to their folders: the
// suite adds the time of the run to the name.
func (r *result) folders(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	stamp := regexp.MustCompile(`-\d{4}-\d\d-\d\dT[0-9-]+Z$`)
	assert.OK(t, filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		dir := filepath.Dir(path)
		name, err := filepath.Rel(r.dir, dir)
		if err != nil {
			return err
		}
		found[stamp.ReplaceAllString(filepath.ToSlash(name), "")] = dir
		return nil
	}))
	return found
}

func (r *result) folder(t *testing.T, name string) string {
	t.Helper()
	dir, ok := r.folders(t)[name]
	if !ok {
		t.Fatalf("the suite left no checks.json for %s:\n%s", name, r.output)
	}
	return dir
}

func (r *result) names(t *testing.T) []string {
	t.Helper()
	var names []string
	for name := range r.folders(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// stderr returns the end of what the client wrote to its standard error.
func (r *result) stderr(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.folder(t, name), "stderr.txt"))
	if err != nil {
		return err.Error()
	}
	const most = 4 << 10
	return string(data[max(0, len(data)-most):])
}
