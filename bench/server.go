package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// roleServer makes a process the neutral server.
const roleServer = "serve"

// A serverSpec says what server a process is to be.
type serverSpec struct{ procs, tools int }

// args are the arguments of this program to be the server.
func (s serverSpec) args(protocol string) []string {
	return []string{roleServer, "-procs", strconv.Itoa(s.procs), "-tools", strconv.Itoa(s.tools), protocol}
}

func runServer(args []string) error {
	flags := flag.NewFlagSet(roleServer, flag.ContinueOnError)
	procs := flags.Int("procs", runtime.GOMAXPROCS(0), "GOMAXPROCS")
	tools := flags.Int("tools", toolCount, "how many tools it has")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*procs)
	n, err := newNeutral(*tools)
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "stdio":
		return n.serveLines(os.Stdin, os.Stdout)
	case "http":
		return n.serveHTTP(os.Stdin, os.Stdout)
	default:
		return errors.New("serve what: stdio or http?")
	}
}

// A webServer is a neutral server over HTTP, in a process of its own.
type webServer struct {
	url string
	cmd *exec.Cmd
	in  io.Closer
}

func startWebServer(program string, spec serverSpec) (*webServer, error) {
	s := &webServer{cmd: exec.Command(program, spec.args("http")...)}
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.in = in
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server named no address: %w", err), s.close())
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

func (s *webServer) close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }
