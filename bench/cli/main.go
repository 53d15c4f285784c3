// Command cli measures mcpbelt as its users run it, a process for each command, beside
// other programs for the same servers, and writes CLI.md. It needs Node and npm.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/npmdir"
)

// options are the flags of the command.
type options struct {
	rounds, calls int
	out, systems  string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 7, "rounds")
	flag.IntVar(&o.calls, "calls", 3, "commands for each figure in each round")
	flag.StringVar(&o.out, "out", "", "file for the table; none: it is printed")
	flag.StringVar(&o.systems, "systems", "darwin/amd64 darwin/arm64 linux/amd64 linux/arm64 windows/amd64 windows/arm64", "systems whose program is weighed")
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := measure(ctx, &o); err != nil {
		log.Fatal(err)
	}
}

// measure measures everything.
func measure(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp("", "cli") // short, for sockets
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, err := newDesk(ctx, dir)
	if err != nil {
		return err
	}
	t := &table{options: o, node: d.node, versions: d.versions, sizes: map[string]int64{}}
	for _, system := range strings.Fields(o.systems) {
		program := filepath.Join(dir, "weighed")
		if err := buildMcpbelt(ctx, program, system); err != nil {
			return err
		}
		info, err := os.Stat(program)
		if err != nil {
			return err
		}
		t.sizes[system] = info.Size()
	}
	defer d.end()
	if err := d.begin(ctx); err != nil {
		return err
	}
	t.tasks = d.tasks()
	for round := range o.rounds + 1 { // the first does not count: daemons start servers in it
		for _, task := range t.tasks {
			if round == 1 {
				task.times, task.timesAlone = [programs][]time.Duration{}, nil
			}
			for range o.calls {
				if err := task.sample(ctx, d); err != nil {
					return fmt.Errorf("%s: %w", task.name, err)
				}
			}
		}
	}
	return t.write()
}

// The programs that are compared, in the order of columns.
const (
	belt = iota
	porter
	inspector
	programs
)

// A desk has the programs, the servers and the config files.
type desk struct {
	dir, mcpbelt, neutral       string
	everything, mcporter, mcpdo string // scripts for Node
	inspectorCLI                string // the program of mcpdo's package that calls once
	versions                    [programs]string
	node                        string
	daemon                      *exec.Cmd
	env                         []string
}

// newDesk builds and installs the programs.
func newDesk(ctx context.Context, dir string) (*desk, error) {
	d := &desk{dir: dir, mcpbelt: filepath.Join(dir, "mcpbelt"), neutral: filepath.Join(dir, "neutral")}
	if err := buildMcpbelt(ctx, d.mcpbelt, ""); err != nil {
		return nil, err
	}
	if err := run(exec.CommandContext(ctx, "go", "build", "-o", d.neutral, ".")); err != nil {
		return nil, err
	}
	const pinned = "../internal/integration/testdata/"
	folders := map[string]string{}
	for _, name := range []string{"cli/npm", pinned + "clients", pinned + "npm"} {
		installed, err := npmdir.Install(ctx, name, "../bin/integration")
		if err != nil {
			return nil, err
		}
		if folders[name], err = filepath.Abs(filepath.Join(installed, "node_modules")); err != nil {
			return nil, err
		}
	}
	d.mcporter = folders["cli/npm"] + "/.bin/mcporter"
	d.mcpdo = folders[pinned+"clients"] + "/.bin/mcpdo"
	d.inspectorCLI = folders[pinned+"clients"] + "/.bin/mcp-inspector"
	d.everything = folders[pinned+"npm"] + "/@modelcontextprotocol/server-everything/dist/index.js"
	d.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "XDG_") }),
		"HOME="+dir, "MCP_INSPECTOR_SECRET_STORE=memory", "NO_COLOR=1", "MCP_CATALOG_PATH="+filepath.Join(dir, "catalog.json"))
	var err error
	if d.node, err = d.version(ctx); err != nil {
		return nil, err
	}
	if d.versions[porter], err = d.version(ctx, d.mcporter); err != nil {
		return nil, err
	}
	d.versions[inspector], err = d.version(ctx, d.mcpdo)
	return d, err
}

// version returns the version of Node, or of a script for it.
func (d *desk) version(ctx context.Context, script ...string) (string, error) {
	out, err := d.command(ctx, "node", append(script, "--version")...).Output()
	return strings.TrimSpace(string(out)), err
}

// buildMcpbelt builds the program as it is released, for this system if none is named.
func buildMcpbelt(ctx context.Context, out, system string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = "../cmd/mcpbelt"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if goos, arch, ok := strings.Cut(system, "/"); ok {
		cmd.Env = append(cmd.Env, "GOOS="+goos, "GOARCH="+arch)
	}
	return run(cmd)
}

// command returns a command line with the home of the desk.
func (d *desk) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = d.dir, d.env
	return cmd
}

// begin writes the config files, has mcpbelt list the tools of all servers once, and
// starts the three daemons.
func (d *desk) begin(ctx context.Context) error {
	if err := d.writeConfigs(); err != nil {
		return err
	}
	if err := run(d.command(ctx, d.mcpbelt, "tools", "--json")); err != nil {
		return err
	}
	d.daemon = d.command(ctx, d.mcpbelt, "daemon")
	d.daemon.Stderr = os.Stderr
	listening, err := d.daemon.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.daemon.Start(); err != nil {
		return err
	}
	if _, err := listening.Read(make([]byte, 1)); err != nil {
		return err
	}
	for _, line := range [][]string{
		{d.mcporter, "daemon", "start"},
		{d.mcpdo, "connect", "neutral"},
		{d.mcpdo, "connect", "everything"},
	} {
		if err := run(d.command(ctx, "node", line...)); err != nil {
			return err
		}
	}
	return nil
}

// end stops the daemons.
func (d *desk) end() {
	if d.daemon != nil && d.daemon.Process != nil {
		_ = d.daemon.Process.Signal(syscall.SIGTERM)
		_ = d.daemon.Wait()
	}
	for _, script := range []string{d.mcporter, d.mcpdo} {
		_ = run(d.command(context.Background(), "node", script, "daemon", "stop"))
	}
}

// run runs a program whose output counts only if it fails.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// A task is what programs do, with the times that they took.
type task struct {
	name, goal string
	want       string             // the output has it
	lines      [programs][]string // of each program; nil: it cannot do it
	alone      []string           // a server that the programs start for the task
	call       string             // what the server is asked, when it is started without them
	times      [programs][]time.Duration
	timesAlone []time.Duration
}

// sample has each program do the task once.
func (t *task) sample(ctx context.Context, d *desk) error {
	for i, line := range t.lines {
		if line == nil {
			continue
		}
		cmd := d.command(ctx, line[0], line[1:]...)
		begun := time.Now()
		out, err := cmd.Output()
		t.times[i] = append(t.times[i], time.Since(begun))
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s%s", err, out, exit.Stderr)
		} else if err == nil && !strings.Contains(string(out), t.want) {
			err = fmt.Errorf("got the output %q, want that it has %q", out, t.want)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(line, " "), err)
		}
	}
	if t.alone == nil {
		return nil
	}
	begun := time.Now()
	if err := callAlone(d.command(ctx, t.alone[0], t.alone[1:]...), t.call); err != nil {
		return err
	}
	t.timesAlone = append(t.timesAlone, time.Since(begun))
	return nil
}
