//go:build unix

package docker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/docker"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// standIn is a program in the place of docker: it writes down how it is called and
// what environment and what file of variables it has, and runs the command behind the
// image as a container would, with these variables. As docker does, it takes the first
// argument that is no option for the image. Its containers are files in a folder, which
// rm removes.
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
: > "$dir/variables"
shift
while :; do
	case $1 in
	--name=*) touch "$dir/containers/${1#*=}" ;;
	--env-file=*) cat "${1#*=}" > "$dir/variables" ;;
	--memory | --label) shift ;;
	-*) ;;
	*) break ;;
	esac
	shift
done
echo "$1" > "$dir/image"
shift
for name in $(env -0 | tr '\n\0' ' \n' | sed 's/=.*//'); do
	case $name in PATH | MCPBELT_PROCESS) ;; *) unset "$name" ;; esac
done
while IFS= read -r line; do export "$line"; done < "$dir/variables"
exec "$@"
`

// A dockerWorld is a stand-in for docker at the front of PATH.
type dockerWorld struct {
	testing.TB
	dir string
}

func newDockerWorld(t *testing.T) *dockerWorld {
	w := &dockerWorld{t, t.TempDir()}
	assert.OK(t, os.WriteFile(filepath.Join(w.dir, "docker"), []byte(standIn), 0o755))
	assert.OK(t, os.Mkdir(filepath.Join(w.dir, "containers"), 0o755))
	t.Setenv("PATH", w.dir+":"+os.Getenv("PATH"))
	return w
}

func (w *dockerWorld) lines(name string) []string {
	w.Helper()
	return strings.Split(strings.TrimSuffix(string(assert.Value(os.ReadFile(filepath.Join(w.dir, name)))(w)), "\n"), "\n")
}

func (w *dockerWorld) containers() int {
	w.Helper()
	return len(assert.Value(os.ReadDir(filepath.Join(w.dir, "containers")))(w))
}

// dockered returns an entry that runs the test program in a container.
func dockered(t testing.TB, i config.Isolation) *config.Server {
	t.Helper()
	self := assert.Value(os.Executable())(t)
	i.Kind = config.IsolationDocker
	if i.Image == "" {
		i.Image = "image:1"
	}
	return &config.Server{
		Name: "notes", Title: "notes", Transport: config.TransportStdio, Command: self, Args: []string{"--one", "two words"},
		Env:       map[string]config.Secret{"GORACE": "atexit_sleep_ms=0", serverMode: "stdio", "API_KEY": "s3cret of # two=words "},
		Source:    config.Source{File: "user.json", Line: 3, Scope: config.ScopeUser},
		Isolation: &i,
	}
}

func runDockered(t *testing.T, e *config.Server) *host.Host {
	t.Helper()
	h := host.New(&host.Options{StateDir: host.NoState, Isolators: map[string]host.Isolator{config.IsolationDocker: &docker.Isolator{}}})
	t.Cleanup(func() { _ = h.Close() })
	assert.Value(h.Apply(t.Context(), &config.Config{Servers: []*config.Server{e}}))(t)
	return h
}

func TestDocker(t *testing.T) {
	w := newDockerWorld(t)
	data, logs := t.TempDir(), filepath.Join(t.TempDir(), `with "quotes", and commas`)
	assert.OK(t, os.Mkdir(logs, 0o700))
	e := dockered(t, config.Isolation{
		Mounts: []config.Mount{{Path: data, Target: "/data", Write: true}, {Path: logs, Target: "/logs"}},
		Args:   []string{"--memory=512m", "--read-only=true"},
	})
	e.Cwd = filepath.Join(data, "sub")
	h := runDockered(t, e)
	hosttest.WantStage(t, h, host.StageReady)
	args := w.lines("arguments")
	name := strings.TrimPrefix(args[1], "--name=")
	assert.True(t, strings.HasPrefix(name, "mcpbelt-"), "name of the container")
	want := []string{
		"run", "--name=" + name, "--env-file=/dev/fd/3", "--rm=true", "--interactive=true", "--init=true", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none",
		"--mount=type=bind,source=" + data + ",target=/data",
		`--mount=type=bind,"source=` + strings.ReplaceAll(logs, `"`, `""`) + `",target=/logs,readonly`,
		"--workdir=/data/sub", "--memory=512m", "--read-only=true", "image:1", e.Command, "--one", "two words",
	}
	assert.Equal(t, fmt.Sprint(args), fmt.Sprint(want), "arguments of docker")
	variables := w.lines("variables")
	slices.Sort(variables)
	assert.Equal(t, strings.Join(variables, "\n"), "API_KEY=s3cret of # two=words \nGORACE=atexit_sleep_ms=0\n"+serverMode+"=stdio", "variables of the container")
	assert.Equal(t, w.containers(), 1, "containers")
	assert.OK(t, h.Restart(t.Context(), "notes"))
	assert.False(t, w.lines("arguments")[1] == args[1], "second start")
	assert.OK(t, h.Close())
	assert.Equal(t, w.containers(), 0)
	assert.Equal(t, len(w.lines("calls")), 2)
}

// The command is that of the image, and need not be on this machine.
func TestDockerTestsWhatIsInTheImage(t *testing.T) {
	w := newDockerWorld(t)
	image := filepath.Join(w.dir, "image")
	self := assert.Value(os.Executable())(t)
	assert.OK(t, os.Mkdir(image, 0o700))
	assert.OK(t, os.Symlink(self, filepath.Join(image, "only-in-the-image")))
	program := strings.Replace(standIn, "while IFS", "PATH=$dir/image:$PATH\nwhile IFS", 1)
	assert.OK(t, os.WriteFile(filepath.Join(w.dir, "docker"), []byte(program), 0o755))
	e := dockered(t, config.Isolation{})
	e.Command = "only-in-the-image"
	h := runDockered(t, e)
	hosttest.WantStage(t, h, host.StageReady)
	assert.True(t, assert.Value(doctor.Test(t.Context(), h, e))(t).Success, "success")
}

func TestDockerNetwork(t *testing.T) {
	w := newDockerWorld(t)
	runDockered(t, dockered(t, config.Isolation{Network: true}))
	assert.True(t, slices.Contains(w.lines("arguments"), "--network=bridge"), "arguments of docker")
}

// A client that had to be killed, and can tell nobody, leaves no container.
func TestDockerKilled(t *testing.T) {
	w := newDockerWorld(t)
	e := dockered(t, config.Isolation{})
	c := assert.Value((&docker.Isolator{}).Isolate(t.Context(), e, &transport.Command{Path: "sleep", Args: []string{"600"}, CloseTimeout: 1}))(t)
	conn := assert.Value(c.Connect(t.Context()))(t)
	for w.containers() == 0 {
		assert.OK(t, t.Context().Err(), "no container")
	}
	assert.OK(t, conn.Close())
	assert.Equal(t, w.containers(), 0, "containers are left")
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
		`"KEY" of "env" has`:         func(e *config.Server) { e.Env = map[string]config.Secret{"KEY": "two\nlines"} },
		`"CR" of "env" has`:          func(e *config.Server) { e.Env = map[string]config.Secret{"CR": "line\r"} },
		`"ODD" of "env" has`:         func(e *config.Server) { e.Env = map[string]config.Secret{"ODD": "\xff"} },
		`"LONG" of "env" has`: func(e *config.Server) {
			e.Env = map[string]config.Secret{"LONG": config.Secret(strings.Repeat("x", 64<<10))}
		},
		`"#KEY" of "env"`:  func(e *config.Server) { e.Env = secretOf("#KEY") },
		`"A KEY" of "env"`: func(e *config.Server) { e.Env = secretOf("A KEY") },
		`isolation "moat"`: func(e *config.Server) { e.Isolation.Kind = "moat" },
		"only a local server": func(e *config.Server) {
			e.Transport, e.Command, e.Args, e.Env, e.URL = config.TransportHTTP, "", nil, nil, "http://127.0.0.1:9/"
		},
	} {
		e := dockered(t, config.Isolation{})
		change(e)
		status := runDockered(t, e).Servers()[0]

		refused := assert.As[*host.IsolationError](t, status.Err)
		assert.Contains(t, fmt.Sprint(status.Err), text)
		assert.Equal(t, mcp.OutcomeOf(refused), mcp.NotSent)
	}
	assert.OK(t, os.WriteFile(filepath.Join(w.dir, "down"), nil, 0o600))
	status := runDockered(t, dockered(t, config.Isolation{})).Servers()[0]
	assert.Contains(t, fmt.Sprint(status.Err), "daemon cannot be reached", "without daemon")
	t.Setenv("PATH", t.TempDir())
	status = runDockered(t, dockered(t, config.Isolation{})).Servers()[0]
	assert.Is(t, status.Err, exec.ErrNotFound, "without docker")
	assert.True(t, os.IsNotExist(hosttest.ErrorOf(os.Stat(filepath.Join(w.dir, "arguments")))), "docker run was called")
}

func secretOf(name string) map[string]config.Secret {
	return map[string]config.Secret{name: "value"}
}

// What the entry gives the container does not act on the docker program.
func TestDockerHasTheBaseEnvironment(t *testing.T) {
	w := newDockerWorld(t)
	e := dockered(t, config.Isolation{})
	for _, name := range []string{"DOCKER_HOST", "LD_PRELOAD_TEST", "GIT_SSH_COMMAND", "http_proxy", "SECRET_HELPER"} {
		e.Env[name] = "value"
	}
	hosttest.WantStage(t, runDockered(t, e), host.StageReady)
	known := []string{"MCPBELT_PROCESS", "PWD", "OLDPWD", "SHLVL", "_"}
	for _, variable := range transport.BaseEnv("docker") {
		name, _, _ := strings.Cut(variable, "=")
		known = append(known, name)
	}
	for _, line := range w.lines("environment") {
		name, _, _ := strings.Cut(line, "=")
		assert.True(t, slices.Contains(known, name), "environment of docker")
		assert.False(t, strings.HasSuffix(line, "=value"), "environment of docker")
	}
	for name := range e.Env {
		assert.True(t, slices.Contains(w.lines("variables"), (name+"="+e.Env[name].Reveal())), "variables of the container")
	}
}

// No value of an entry waits for a docker that does not read it.
func TestDockerIgnoresSignals(t *testing.T) {
	w := newDockerWorld(t)
	withoutVariables := strings.Replace(standIn, `cat "${1#*=}" > "$dir/variables"`, ":", 1)
	assert.OK(t, os.WriteFile(filepath.Join(w.dir, "docker"), []byte(withoutVariables), 0o755))
	env := []string{}
	for _, name := range []string{"A", "B", "C", "D"} {
		env = append(env, name+"="+strings.Repeat("x", 60<<10))
	}
	c := assert.Value((&docker.Isolator{}).Isolate(t.Context(), dockered(t, config.Isolation{}), &transport.Command{Path: "sleep", Args: []string{"600"}, Env: env, CloseTimeout: 1}))(t)
	assert.OK(t, assert.Value(c.Connect(t.Context()))(t).Close())
}

// No argument of the entry takes the place of the image, or of what is ours.
func TestDockerArgs(t *testing.T) {
	w := newDockerWorld(t)
	for _, args := range [][]string{
		{"--memory"}, {"--memory", "512m"}, {"--label"}, {"--read-only"}, {"other:1"}, {"--"}, {"--="}, {"--=x"}, {"---x=y"}, {""}, {"-"},
		{"-m=1g"}, {"-v/:/host"}, {"-dit"}, {"-d=true"}, {"--Name=x"}, {"--na me=x"}, {"--label=a\x00"},
		{"--name=x"}, {"--rm=false"}, {"--detach=true"}, {"--cidfile=x"}, {"--tty=true"}, {"--interactive=false"}, {"--sig-proxy=false"},
		{"--attach=stdin"}, {"--restart=always"}, {"--detach-keys=a"}, {"--rootfs=true"}, {"--help=true"}, {"--env-file=/dev/fd/3"},
	} {
		status := runDockered(t, dockered(t, config.Isolation{Args: args})).Servers()[0]

		assert.As[*host.IsolationError](t, status.Err)
		assert.Contains(t, fmt.Sprint(status.Err), `"isolation.args"`)
	}
	assert.True(t, os.IsNotExist(hosttest.ErrorOf(os.Stat(filepath.Join(w.dir, "image")))), "image")
}
