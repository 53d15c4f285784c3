// Package benchprocess has what the programs of bench share about processes: to start them, and what
// they hold.
package benchprocess

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Start starts this program with other arguments, and returns the line that it prints first.
// Stop ends its standard input, which ends it, and waits for that.
func Start(args ...string) (line string, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, outErr := cmd.StdoutPipe()
	in, inErr := cmd.StdinPipe()
	if err := errors.Join(outErr, inErr, cmd.Start()); err != nil {
		return "", nil, err
	}
	stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", nil, errors.Join(fmt.Errorf("the process prints nothing: %w", err), stop())
	}
	return strings.TrimSpace(line), stop, nil
}

// Serve serves a handler at a free port. It writes the URL of a path there to out, as a line, and
// serves until in ends.
func Serve(in io.Reader, out io.Writer, path string, handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	_, err = fmt.Fprintf(out, "http://%s%s\n", listener.Addr(), path)
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	err = errors.Join(err, server.Close())
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// Together does something for each of n at the same time.
func Together(n int, do func(i int) error) error {
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() { errs[i] = do(i) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// Resident returns the memory of this process that the system counts, in KB of 1,000 bytes; 0
// where it does not tell.
func Resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1]) // the system writes numbers
	return float64(pages*os.Getpagesize()) / 1e3
}

// Version returns the version of a module that this program was built with.
func Version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "of unknown version"
}
