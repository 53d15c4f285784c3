package host

import (
	"context"
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	// dockerReach bounds the question whether the daemon can be reached.
	dockerReach = 10 * time.Second
	// dockerRemove bounds the removal of a container whose client is gone.
	dockerRemove = 10 * time.Second
)

// A Docker confines local servers in containers, each start in a new one, which it
// removes when the server ends: docker run --rm, with the capabilities dropped and no
// new privileges, without network unless the entry wants it, and with nothing of this
// machine but the entry's mounts. The image must be named by the entry.
//
// The command is that of the container, and what it is given of env reaches it
// through the environment of the docker program, so that no value stands on a command
// line. Variables that the docker program itself would obey are refused.
//
// A container ends with its server, with Close, and, since its standard input ends,
// when this process is killed; but a server that goes on without input stays then
// until somebody removes its container, whose name begins with "mcpbelt-".
type Docker struct {
	// Program is the docker program, or one that takes the same arguments, such as
	// podman; looked up in PATH if it has no path separator. Default: docker.
	Program string
}

// Isolate implements [Isolator]. It fails if there is no docker program, or if it
// does not reach its daemon within 10 s.
func (d *Docker) Isolate(ctx context.Context, e *config.Server, c *transport.Command) (*transport.Command, error) {
	args, err := dockerArgs(e, c)
	if err != nil {
		return nil, isolationError(e, err)
	}
	program, err := d.program()
	if err != nil {
		return nil, isolationError(e, err)
	}
	if err := dockerReached(ctx, program); err != nil {
		return nil, isolationError(e, err)
	}
	name := "mcpbelt-" + strings.ToLower(rand.Text())
	confined := *c
	confined.Path = program
	confined.Args = append([]string{"run", "--name", name}, args...)
	confined.Dir = ""
	before := c.Ended
	confined.Ended = func() {
		dockerRemoved(program, name)
		if before != nil {
			before()
		}
	}
	return &confined, nil
}

func (d *Docker) program() (string, error) {
	name := d.Program
	if name == "" {
		name = "docker"
	}
	found, err := exec.LookPath(name)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return "", fmt.Errorf("the program %q is not there: install it, or put its folder into PATH: %w", name, err)
	}
	return found, nil
}

// dockerCommand returns a command of the docker program, with no more environment
// than the servers get.
func dockerCommand(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = transport.BaseEnv()
	cmd.WaitDelay = time.Second
	return cmd
}

func dockerReached(ctx context.Context, program string) error {
	ctx, stop := context.WithTimeout(ctx, dockerReach)
	defer stop()
	out, err := dockerCommand(ctx, program, "version", "--format", "{{.Server.Version}}").CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("the docker daemon cannot be reached: start it, or let this user use it: %w: %s", err, dockerSays(out))
}

// dockerSays returns the last line of what docker wrote.
func dockerSays(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Sprintf("%.300q", lines[len(lines)-1])
}

// dockerRemoved sees to it that a container is gone. Most are already, and that is
// no error; one that cannot be removed is a matter for the daemon's log.
func dockerRemoved(program, name string) {
	ctx, stop := context.WithTimeout(context.Background(), dockerRemove)
	defer stop()
	_ = dockerCommand(ctx, program, "rm", "--force", "--volumes", name).Run()
}

// dockerArgs returns the arguments of docker run, after the name.
func dockerArgs(e *config.Server, c *transport.Command) ([]string, error) {
	i := e.Isolation
	if i.Image == "" || strings.HasPrefix(i.Image, "-") || strings.ContainsAny(i.Image, " \t\n") {
		return nil, fmt.Errorf("\"isolation.image\" is %q: name the image in which the command is, such as \"node:22-slim\"", i.Image)
	}
	network := "none"
	if i.Network {
		network = "bridge"
	}
	args := []string{"--rm", "--interactive", "--init", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", network}
	for _, m := range i.Mounts {
		mount, err := dockerMount(m)
		if err != nil {
			return nil, err
		}
		args = append(args, "--mount", mount)
	}
	for _, variable := range c.Env {
		name, _, _ := strings.Cut(variable, "=")
		if dockerObeys(name) {
			return nil, fmt.Errorf("the variable %q of \"env\" would act on the docker program itself, outside of the container: set it in the image, or by \"isolation.args\"", name)
		}
		args = append(args, "--env", name)
	}
	if c.Dir != "" {
		args = append(args, "--workdir", dockerDir(i.Mounts, c.Dir))
	}
	for _, arg := range i.Args {
		if err := dockerArg(arg); err != nil {
			return nil, err
		}
	}
	args = append(args, i.Args...)
	args = append(args, i.Image, c.Path)
	return append(args, c.Args...), nil
}

func dockerMount(m config.Mount) (string, error) {
	target := m.Target
	if target == "" {
		target = filepath.ToSlash(m.Path)
	}
	switch {
	case !filepath.IsAbs(m.Path):
		return "", fmt.Errorf("the path %q of \"isolation.mounts\" is not absolute", m.Path)
	case !path.IsAbs(target):
		return "", fmt.Errorf("the target %q of \"isolation.mounts\" is not absolute, as /data is", target)
	}
	if _, err := os.Stat(m.Path); err != nil {
		return "", fmt.Errorf("a folder of \"isolation.mounts\": %w", err)
	}
	fields := []string{"type=bind", "source=" + m.Path, "target=" + target}
	if !m.Write {
		fields = append(fields, "readonly")
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(fields) // into memory
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n"), w.Error()
}

// dockerDir returns where a folder of this machine is in the container, or the
// folder itself if no mount holds it: then it is meant to be one of the container.
func dockerDir(mounts []config.Mount, dir string) string {
	best, found := "", -1
	for _, m := range mounts {
		rest, err := filepath.Rel(m.Path, dir)
		if err != nil || rest == ".." || strings.HasPrefix(rest, ".."+string(filepath.Separator)) || len(m.Path) <= found {
			continue
		}
		target := m.Target
		if target == "" {
			target = filepath.ToSlash(m.Path)
		}
		best, found = path.Join(target, filepath.ToSlash(rest)), len(m.Path)
	}
	if found < 0 {
		return dir
	}
	return best
}

// dockerArg refuses the arguments that would take a container out of our hands.
func dockerArg(arg string) error {
	name, _, _ := strings.Cut(arg, "=")
	if slices.Contains([]string{"--name", "--rm", "--detach", "--cidfile", "--tty", "--interactive", "--", "--sig-proxy", "--attach", "-a", "--restart", "--detach-keys"}, name) {
		return fmt.Errorf("%q of \"isolation.args\" is not possible: the container would not live and die with its server", name)
	}
	if cluster, ok := strings.CutPrefix(name, "-"); ok && cluster != "" && strings.Trim(cluster, "ditP") == "" && strings.ContainsAny(cluster, "dt") {
		return fmt.Errorf("%q of \"isolation.args\" is not possible: the container would not live and die with its server", name)
	}
	if strings.ContainsRune(arg, 0) {
		return errors.New("\"isolation.args\" has a NUL byte: remove it")
	}
	return nil
}

// dockerObeys reports whether the docker program, or what it runs to log in at a
// registry, takes a variable for itself.
func dockerObeys(name string) bool {
	if name == "" || leadsToCode(name) {
		return true
	}
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"DOCKER_", "CONTAINERS_", "PODMAN_", "XDG_", "SSH_", "SSL_CERT_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	switch upper {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REGISTRY_AUTH_FILE", "CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINER_SSHKEY", "STORAGE_DRIVER", "STORAGE_OPTS", "STORAGE_CONF",
		"GODEBUG", "GOTRACEBACK", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GOCOVERDIR", "TERM", "USER", "LOGNAME", "TEMP", "TMP", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "PASSWORD_STORE_DIR":
		return true
	}
	return false
}
