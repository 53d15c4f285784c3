//go:build unix

package host_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// standIn is a program in the place of docker: it writes down how it is called and
// what environment it has, and runs the command behind the image as a container would,
// with the named variables only. Its containers are files in a folder, which rm removes.
const standIn = `#!/bin/sh
dir=$(dirname "$0")
case $1 in
version) [ ! -e "$dir/down" ] || { echo "Cannot connect to the Docker daemon" >&2; exit 1; }; exit ;;
rm)
	for name; do :; done
	echo "rm $name" >> "$dir/calls"
	rm -f "$dir/containers/$name"
	exit ;;
esac
printf '%s\n' "$@" > "$dir/arguments"
env > "$dir/environment"
while [ "$1" != image:1 ]; do
	case $1 in
	--name) touch "$dir/containers/$2" ;;
	--env) kept="$kept $2" ;;
	esac
	shift
done
shift
for name in $(env -0 | tr '\n\0' ' \n' | sed 's/=.*//'); do
	case " $kept PATH GORACE MCPBELT_PROCESS " in *" $name "*) ;; *) unset "$name" ;; esac
done
"$@"
`

// A dockerWorld is a stand-in for docker at the front of PATH.
type dockerWorld struct {
	testing.TB
	dir string
}

func newDockerWorld(t *testing.T) *dockerWorld {
	w := &dockerWorld{t, t.TempDir()}
	if err := os.WriteFile(filepath.Join(w.dir, "docker"), []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "containers"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", w.dir+":"+os.Getenv("PATH"))
	return w
}

func (w *dockerWorld) lines(name string) []string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func (w *dockerWorld) containers() int {
	w.Helper()
	list, err := os.ReadDir(filepath.Join(w.dir, "containers"))
	if err != nil {
		w.Fatal(err)
	}
	return len(list)
}

// dockered returns an entry that runs the test program in a container.
func dockered(t testing.TB, i config.Isolation) *config.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	i.Kind = config.IsolationDocker
	if i.Image == "" {
		i.Image = "image:1"
	}
	return &config.Server{
		Name: "notes", Title: "notes", Transport: config.TransportStdio, Enabled: true, Command: self, Args: []string{"--one", "two words"},
		Env:       map[string]config.Secret{"GORACE": "atexit_sleep_ms=0", serverMode: "stdio", "API_KEY": "s3cret\nof two lines"},
		Source:    config.Source{File: "user.json", Line: 3, Scope: config.ScopeUser},
		Isolation: &i,
	}
}

func runDockered(t *testing.T, e *config.Server) *host.Host {
	t.Helper()
	h := host.New(&host.Options{StateDir: host.NoState})
	t.Cleanup(func() { _ = h.Close() })
	if _, err := h.Apply(t.Context(), &config.Config{Servers: []*config.Server{e}}); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestDocker(t *testing.T) {
	w := newDockerWorld(t)
	data, logs := t.TempDir(), filepath.Join(t.TempDir(), `with "quotes", and commas`)
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	e := dockered(t, config.Isolation{
		Mounts: []config.Mount{{Path: data, Target: "/data", Write: true}, {Path: logs, Target: "/logs"}},
		Args:   []string{"--memory", "512m"},
	})
	e.Cwd = filepath.Join(data, "sub")
	h := runDockered(t, e)
	wantStage(t, h, host.StageReady)
	args := w.lines("arguments")
	name := args[2]
	if !strings.HasPrefix(name, "mcpbelt-") {
		t.Errorf("the container is called %q", name)
	}
	want := []string{
		"run", "--name", name, "--rm", "--interactive", "--init", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none",
		"--mount", "type=bind,source=" + data + ",target=/data",
		"--mount", `type=bind,"source=` + strings.ReplaceAll(logs, `"`, `""`) + `",target=/logs,readonly`,
		"--env", "API_KEY", "--env", "GORACE", "--env", serverMode, "--workdir", "/data/sub", "--memory", "512m", "image:1", e.Command, "--one", "two words",
	}
	slices.Sort(args[16:22])
	slices.Sort(want[16:22])
	if !slices.Equal(args, want) {
		t.Errorf("docker was called with\n%q, want\n%q", args, want)
	}
	if strings.Contains(strings.Join(args, " "), "s3cret") {
		t.Error("a value is on the command line")
	}
	if !slices.Contains(w.lines("environment"), "API_KEY=s3cret") {
		t.Error("the value did not reach docker by its environment")
	}
	if w.containers() != 1 {
		t.Errorf("%d containers, want 1", w.containers())
	}
	if err := h.Restart(t.Context(), "notes"); err != nil {
		t.Fatal(err)
	}
	if again := w.lines("arguments")[2]; again == name {
		t.Error("two starts have one name")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if n := w.containers(); n != 0 || len(w.lines("calls")) != 2 {
		t.Errorf("%d containers after Close; removed: %q", n, w.lines("calls"))
	}
}

// The command is that of the image, and need not be on this machine.
func TestDockerTestsWhatIsInTheImage(t *testing.T) {
	w := newDockerWorld(t)
	image := filepath.Join(w.dir, "image")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(image, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(image, "only-in-the-image")); err != nil {
		t.Fatal(err)
	}
	program := strings.Replace(standIn, "shift\nfor", "shift\nPATH=$dir/image:$PATH\nfor", 1)
	if err := os.WriteFile(filepath.Join(w.dir, "docker"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	e := dockered(t, config.Isolation{})
	e.Command = "only-in-the-image"
	h := runDockered(t, e)
	wantStage(t, h, host.StageReady)
	if r, err := h.Test(t.Context(), e, nil); err != nil || !r.Success {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestDockerNetwork(t *testing.T) {
	w := newDockerWorld(t)
	runDockered(t, dockered(t, config.Isolation{Network: true}))
	args := w.lines("arguments")
	if i := slices.Index(args, "--network"); i < 0 || args[i+1] != "bridge" {
		t.Errorf("docker was called with %q", args)
	}
}

// A client that had to be killed, and can tell nobody, leaves no container.
func TestDockerKilled(t *testing.T) {
	w := newDockerWorld(t)
	e := dockered(t, config.Isolation{})
	c, err := (&host.Docker{}).Isolate(t.Context(), e, &transport.Command{Path: "sleep", Args: []string{"600"}, CloseTimeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for w.containers() == 0 {
		if t.Context().Err() != nil {
			t.Fatal("no container")
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if n := w.containers(); n != 0 {
		t.Errorf("%d containers are left", n)
	}
}

// What cannot be confined is not started.
func TestDockerRefuses(t *testing.T) {
	w := newDockerWorld(t)
	for text, change := range map[string]func(e *config.Server){
		`"isolation.image"`:          func(e *config.Server) { e.Isolation.Image = "--privileged" },
		`"isolation.image" is ""`:    func(e *config.Server) { e.Isolation.Image = "" },
		`"isolation.image" is "a b"`: func(e *config.Server) { e.Isolation.Image = "a b" },
		"no such file":               func(e *config.Server) { e.Isolation.Mounts = []config.Mount{{Path: "/not/there"}} },
		"is not absolute":            func(e *config.Server) { e.Isolation.Mounts = []config.Mount{{Path: "data"}} },
		`target "data"`:              func(e *config.Server) { e.Isolation.Mounts = []config.Mount{{Path: "/etc", Target: "data"}} },
		`"DOCKER_HOST"`:              func(e *config.Server) { e.Env = secretOf("DOCKER_HOST") },
		`"LD_PRELOAD"`:               func(e *config.Server) { e.Env = secretOf("LD_PRELOAD") },
		`"PATH"`:                     func(e *config.Server) { e.Env = secretOf("PATH") },
		`"https_proxy"`:              func(e *config.Server) { e.Env = secretOf("https_proxy") },
		`"--name"`:                   func(e *config.Server) { e.Isolation.Args = []string{"--name=x"} },
		`"--rm"`:                     func(e *config.Server) { e.Isolation.Args = []string{"--rm=false"} },
		`"-dit"`:                     func(e *config.Server) { e.Isolation.Args = []string{"-dit"} },
		`isolation "moat"`:           func(e *config.Server) { e.Isolation.Kind = "moat" },
		"only a local server": func(e *config.Server) {
			e.Transport, e.Command, e.Args, e.Env, e.URL = config.TransportHTTP, "", nil, nil, "http://127.0.0.1:9/"
		},
	} {
		e := dockered(t, config.Isolation{})
		change(e)
		status := runDockered(t, e).Servers()[0]
		var refused *host.IsolationError
		if !errors.As(status.Err, &refused) || !strings.Contains(status.Err.Error(), text) || mcp.OutcomeOf(refused) != mcp.NotSent {
			t.Errorf("%v, want an IsolationError that says %s", status.Err, text)
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir, "down"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status := runDockered(t, dockered(t, config.Isolation{})).Servers()[0]
	if status.Err == nil || !strings.Contains(status.Err.Error(), "daemon cannot be reached") {
		t.Errorf("without daemon: %v", status.Err)
	}
	t.Setenv("PATH", t.TempDir())
	status = runDockered(t, dockered(t, config.Isolation{})).Servers()[0]
	if !errors.Is(status.Err, exec.ErrNotFound) {
		t.Errorf("without docker: %v", status.Err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "arguments")); !os.IsNotExist(err) {
		t.Error("docker run was called")
	}
}

func secretOf(name string) map[string]config.Secret {
	return map[string]config.Secret{name: "value"}
}
