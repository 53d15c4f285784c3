package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// A background is the output of daemon --background.
type background struct {
	PID    int    `json:"pid,omitempty"` // absent if one ran already
	Socket string `json:"socket"`
}

// startBackground starts the daemon of a command line as a process that outlives this one and its
// terminal, and returns when it serves. If it does not come to that, or the context ends first, it
// is ended, and the error is its own.
func startBackground(cmd *cobra.Command, b *belt.Belt) error {
	if s, err := b.Station(b.DaemonName()); err == nil {
		defer s.Close()
		if s.Ask(cmd.Context(), http.MethodGet, "servers", new(any)) == nil {
			b.Out.Printf("the daemon runs already\n")
			path, _ := b.SocketPath(s.Name)
			return b.Out.Result(background{Socket: path})
		}
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	said, says, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	daemon := &exec.Cmd{Path: program, Args: append([]string{os.Args[0]}, backgroundArgs(cmd)...), Dir: b.Env.Dir, Stdout: says, Stderr: says, SysProcAttr: detached()}
	err = daemon.Start()
	_ = says.Close()
	if err != nil {
		return &cli.Error{Exit: cli.Failed, Message: "the daemon cannot be started: " + err.Error(), Err: err}
	}
	stop := context.AfterFunc(cmd.Context(), func() { _ = daemon.Process.Kill() })
	socket, err := awaitSocket(b, said)
	if !stop() {
		err = cmd.Context().Err()
	}
	if err != nil {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		return err
	}
	shown := background{daemon.Process.Pid, socket}
	if err := daemon.Process.Release(); err != nil {
		return err
	}
	b.Out.Printf("process %d is listening on %s\n", shown.PID, shown.Socket)
	return b.Out.Result(shown)
}

// backgroundArgs returns the command line of the daemon: that of this command without what only
// this process heeds.
func backgroundArgs(cmd *cobra.Command) []string {
	args := []string{cmd.Name(), "--json"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"background", "json", "timeout"}, f.Name) {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// awaitSocket reads what a daemon says, as JSON, until it names its socket, or ends. The error is
// then its last one; those before are shown, since it went on after them.
func awaitSocket(b *belt.Belt, said io.Reader) (socket string, err error) {
	var errs []error
	for lines := bufio.NewScanner(said); socket == "" && lines.Scan(); {
		var line struct {
			Socket string
			Error  *struct {
				Exit                  cli.Exit
				Message, Server, Cure string
			}
		}
		_ = json.Unmarshal(lines.Bytes(), &line) // what is not JSON is not for this process
		if e := line.Error; e != nil {
			errs = append(errs, &cli.Error{Exit: e.Exit, Server: e.Server, Message: e.Message, Cure: e.Cure})
		}
		socket = line.Socket
	}
	if socket == "" && len(errs) == 0 {
		return "", &cli.Error{Exit: cli.Failed, Message: "the daemon has ended, and did not say why", Cure: "mcpbelt daemon"}
	}
	if socket == "" {
		err, errs = errs[len(errs)-1], errs[:len(errs)-1]
	}
	_ = b.Failed(errs, false) // which shows them
	return socket, err
}
