package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	// reachTime bounds the question whether the daemon can be reached.
	reachTime = 10 * time.Second
	// removeTime bounds the removal of a container whose client is gone.
	removeTime = 10 * time.Second
)

// An Isolator confines local servers in containers, each start in a new one, which it
// removes when the server ends: docker run --rm, with the capabilities dropped and no
// new privileges, without network unless the entry wants it, and with nothing of this
// machine but the entry's mounts. The image must be named by the entry.
//
// The command is that of the container. The variables of env reach it by an --env-file,
// which is a pipe, or on Windows a file that is removed when the container has ended: no
// value stands on a command line, and none acts on the docker program, which has the
// variables of [transport.BaseEnv] only. A value with a line break, one that is not
// UTF-8, and a variable of 64 KiB or more cannot be passed and are refused.
//
// Each of the entry's isolation.args has to be of the form --name=value, such as
// --memory=512m or --read-only=true, so that none takes the place of the image.
// Those that would take the container out of our hands, such as --detach, are refused.
//
// A container ends with its server, with Close, and, since its standard input ends,
// when this process is killed; but a server that goes on without input stays then
// until its container is removed, whose name begins with "mcpbelt-".
type Isolator struct {
	// Program is the docker program, or one that takes the same arguments, such as
	// podman; looked up in PATH if it has no path separator. Default: docker.
	Program string
}

// Isolate implements the Isolator of package host. It fails if there is no docker program, or if it
// does not reach its daemon within 10 s.
func (d *Isolator) Isolate(ctx context.Context, e *config.Server, c *transport.Command) (*transport.Command, error) {
	args, err := runArgs(e, c)
	if err != nil {
		return nil, err
	}
	env, err := envText(c.Env)
	if err != nil {
		return nil, err
	}
	program, err := d.program()
	if err != nil {
		return nil, err
	}
	if err := reached(ctx, program); err != nil {
		return nil, err
	}
	name := "mcpbelt-" + strings.ToLower(rand.Text())
	confined := *c
	confined.Path = program
	confined.Args = slices.Concat([]string{"run", "--name=" + name}, args)
	confined.Dir = ""
	confined.Env = nil
	r := &run{program: program, name: name, start: c.Start, ended: c.Ended}
	if len(c.Env) > 0 {
		r.env = newEnvFile(env)
		confined.Args = slices.Insert(confined.Args, 2, "--env-file="+r.env.path)
	}
	confined.Start, confined.Ended = r.begin, r.end
	return &confined, nil
}

// A run is one start of a container.
type run struct {
	program, name string
	env           *envFile                  // nil: the container gets no variables
	start         func(cmd *exec.Cmd) error // nil: as it is
	ended         func()                    // nil: nothing else
}

func (r *run) begin(cmd *exec.Cmd) error {
	start := r.start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if r.env == nil {
		return start(cmd)
	}
	return r.env.start(cmd, start)
}

func (r *run) end() {
	if r.env != nil {
		r.env.close()
	}
	removed(r.program, r.name)
	if r.ended != nil {
		r.ended()
	}
}

func (d *Isolator) program() (string, error) {
	name := cmp.Or(d.Program, "docker")
	found, err := exec.LookPath(name)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return "", fmt.Errorf("the program %q is not there: install it, or put its folder into PATH: %w", name, err)
	}
	return found, nil
}

// command returns a command of the docker program, with no more environment
// than the servers get.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = transport.BaseEnv(program)
	cmd.WaitDelay = time.Second
	return cmd
}

func reached(ctx context.Context, program string) error {
	ctx, stop := context.WithTimeout(ctx, reachTime)
	defer stop()
	out, err := command(ctx, program, "version", "--format", "{{.Server.Version}}").CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("the docker daemon cannot be reached: start it, or let this user use it: %w: %s", err, lastLine(out))
}

// lastLine returns the last line of what docker wrote.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Sprintf("%.300q", lines[len(lines)-1])
}

// removed sees to it that a container is gone. Most are already, and that is
// no error; one that cannot be removed is a matter for the daemon's log.
func removed(program, name string) {
	ctx, stop := context.WithTimeout(context.Background(), removeTime)
	defer stop()
	_ = command(ctx, program, "rm", "--force", "--volumes", name).Run()
}

// runArgs returns the arguments of docker run, after the name.
func runArgs(e *config.Server, c *transport.Command) ([]string, error) {
	i := e.Isolation
	if i.Image == "" || strings.HasPrefix(i.Image, "-") || strings.ContainsAny(i.Image, " \t\n") {
		return nil, fmt.Errorf("\"isolation.image\" is %q: name the image in which the command is, such as \"node:22-slim\"", i.Image)
	}
	network := "none"
	if i.Network {
		network = "bridge"
	}
	args := []string{"--rm=true", "--interactive=true", "--init=true", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=" + network}
	for _, m := range i.Mounts {
		mount, err := mountArg(m)
		if err != nil {
			return nil, err
		}
		args = append(args, "--mount="+mount)
	}
	if c.Dir != "" {
		args = append(args, "--workdir="+dirInContainer(i.Mounts, c.Dir))
	}
	for _, arg := range i.Args {
		if err := checkArg(arg); err != nil {
			return nil, err
		}
	}
	args = append(args, i.Args...)
	args = append(args, i.Image, c.Path)
	return append(args, c.Args...), nil
}

func mountArg(m config.Mount) (string, error) {
	target := cmp.Or(m.Target, filepath.ToSlash(m.Path))
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

// dirInContainer returns where a folder of this machine is in the container, or the
// folder itself if no mount holds it: then it is meant to be one of the container.
func dirInContainer(mounts []config.Mount, dir string) string {
	best, found := "", -1
	for _, m := range mounts {
		rest, err := filepath.Rel(m.Path, dir)
		if err != nil || rest == ".." || strings.HasPrefix(rest, ".."+string(filepath.Separator)) || len(m.Path) <= found {
			continue
		}
		target := cmp.Or(m.Target, filepath.ToSlash(m.Path))
		best, found = path.Join(target, filepath.ToSlash(rest)), len(m.Path)
	}
	if found < 0 {
		return dir
	}
	return best
}

var option = regexp.MustCompile(`^--[a-z][a-z0-9-]*=[^\x00]*$`)

// checkArg refuses the arguments that would take a container out of our hands.
func checkArg(arg string) error {
	name, _, _ := strings.Cut(arg, "=")
	if !option.MatchString(arg) {
		return fmt.Errorf("%.40q of \"isolation.args\" is not of the form --name=value, as --memory=512m and --read-only=true are: write it so", name)
	}
	switch name {
	case "--name", "--rm", "--detach", "--cidfile", "--tty", "--interactive", "--sig-proxy", "--attach", "--restart", "--detach-keys",
		"--env-file", "--rootfs", "--help":
		return fmt.Errorf("%q of \"isolation.args\" is not possible: this program sets it, or counts on its default; remove it", name)
	}
	return nil
}

// maxLine is how long a line of an --env-file must not be.
const maxLine = 64 << 10

// envText returns variables as an --env-file has them.
func envText(variables []string) (string, error) {
	var b strings.Builder
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case name == "" || strings.HasPrefix(name, "#") || strings.ContainsFunc(name, unicode.IsSpace) || !utf8.ValidString(name):
			return "", fmt.Errorf("the variable %q of \"env\" has a name that docker cannot pass to a container: rename it", name)
		case strings.ContainsAny(value, "\n\r\x00") || !utf8.ValidString(value):
			return "", fmt.Errorf("the variable %q of \"env\" has a line break, or is not UTF-8, which docker cannot pass to a container: put the value into a file, and its folder into \"isolation.mounts\"", name)
		case len(variable) >= maxLine:
			return "", fmt.Errorf("the variable %q of \"env\" has %d bytes, and docker passes fewer than %d to a container: put the value into a file, and its folder into \"isolation.mounts\"", name, len(variable), maxLine)
		}
		b.WriteString(variable + "\n")
	}
	return b.String(), nil
}
