package transporttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpbelt/mcpbelt/transport"
)

// relayVariable marks a process that RunChild must turn into a relay, and holds
// its plan.
const relayVariable = "TRANSPORTTEST_RELAY"

// A relayPlan says what a relay does.
type relayPlan struct {
	Path   string // of the program
	Faults []Fault
	Folder string // for the counts, which are shared by all connections
}

// relayed returns a recipe that starts a relay instead of the program.
func relayed(c *transport.Command, faults []Fault, folder string) (*transport.Command, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plan, err := json.Marshal(relayPlan{c.Path, faults, folder})
	if err != nil {
		return nil, err
	}
	own := *c
	own.Path = program
	own.Env = append(slices.Clone(c.Env), relayVariable+"="+string(plan), "GORACE=atexit_sleep_ms=0")
	return &own, nil
}

// runRelay does nothing unless this process is a relay; else it does not return.
func runRelay() {
	text := os.Getenv(relayVariable)
	if text == "" {
		return
	}
	var plan relayPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(99)
	}
	code, err := plan.run()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "relay:", err)
	}
	if code < 0 {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
			select {}
		}
	}
	os.Exit(code)
}

// run runs the program and passes lines until it ends or a fault ends it. It
// returns the program's exit code, which is -1 after a signal.
func (p relayPlan) run() (code int, err error) {
	// The program gets the signals too, and ends as it will.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	cmd := exec.Command(p.Path, os.Args[1:]...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, relayVariable+"=") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 98, err
	}
	out, outWriter := io.Pipe()
	cmd.Stdout = outWriter
	if err := cmd.Start(); err != nil {
		return 98, err
	}
	s := newStriker(p.Faults)
	s.tally = p.tally
	f := s.stream(halves{os.Stdin, os.Stdout}, halves{out, in})
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case <-f.ended:
		_ = cmd.Process.Kill()
		<-exited
		return 1, nil
	case err = <-exited:
	}
	_ = outWriter.Close() // cmd.Wait has passed on all output
	<-f.passed
	f.end()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// tally counts in a file, one byte for each request.
func (p relayPlan) tally(i int) int {
	file, err := os.OpenFile(filepath.Join(p.Folder, fmt.Sprint("fault-", i)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString("."); err != nil {
		return 0
	}
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	return int(info.Size())
}
