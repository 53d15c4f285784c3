package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const serversPath = "github.com/mcpbelt/mcpbelt/examples/servers/"

// servers are the programs that the config file refers to: the notes server,
// which the host starts, and the clock server, which is started here as if it
// ran elsewhere.
type servers struct {
	notes    string // path of the program
	clock    *exec.Cmd
	clockIn  io.Closer // the clock server ends when this is closed
	clockURL string
}

func startServers(ctx context.Context, dir string) (*servers, error) {
	fmt.Println("Building the two example servers ...")
	s := &servers{}
	var clock string
	for name, path := range map[string]*string{"notes": &s.notes, "clock": &clock} {
		*path = filepath.Join(dir, name)
		if runtime.GOOS == "windows" {
			*path += ".exe"
		}
		build := exec.CommandContext(ctx, "go", "build", "-o", *path, serversPath+name)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("building the %s server (run this in the repository): %w", name, err)
		}
	}
	return s, s.startClock(clock)
}

// startClock starts the clock server and reads from its first line where it
// listens.
func (s *servers) startClock(path string) error {
	s.clock = exec.Command(path, "-until-stdin-closes")
	s.clock.Stderr = os.Stderr
	in, err := s.clock.StdinPipe()
	if err != nil {
		return err
	}
	out, err := s.clock.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.clock.Start(); err != nil {
		return err
	}
	s.clockIn = in
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		s.stop()
		return errors.New("the clock server did not say where it listens")
	}
	s.clockURL = url
	return nil
}

func (s *servers) stop() {
	_ = s.clockIn.Close()
	_ = s.clock.Wait()
}

// lookup gives the config file its variables.
func (s *servers) lookup(name string) (string, bool) {
	switch name {
	case "NOTES_SERVER":
		return s.notes, true
	case "CLOCK_URL":
		return s.clockURL, true
	}
	return os.LookupEnv(name)
}
