// Quickstart builds two example servers and the program in the folder belt, and runs it: it
// opens a config file with both servers, adds a tool of its own, calls one tool of each,
// kills a server and calls it again.
//
//	go run ./examples/quickstart
//
// It needs nothing but Go.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const examples = "github.com/mcpbelt/mcpbelt/examples/"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run() error {
	fmt.Println("Building two example servers and a program that uses them (about a minute on a new machine) ...")
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), examples+"servers/notes", examples+"servers/clock", examples+"quickstart/belt")
	build.Stderr = os.Stderr // go tells what it downloads
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the programs (run this in the repository): %w", err)
	}
	program := func(name string) string {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		return filepath.Join(dir, name)
	}

	clock := exec.Command(program("clock"), "-until-stdin-closes")
	url, stop, err := startClock(clock)
	if err != nil {
		return err
	}
	defer stop()
	belt := exec.Command(program("belt"))
	belt.Env = append(os.Environ(), "CLOCK_URL="+url, "NOTES_SERVER="+program("notes"), "NOTES_FILE="+filepath.Join(dir, "notes.jsonl"))
	belt.Stdout, belt.Stderr = os.Stdout, os.Stderr
	return belt.Run()
}

// startClock starts the clock server, as if it ran elsewhere, and reads from its first
// line where it listens.
func startClock(clock *exec.Cmd) (url string, stop func(), err error) {
	clock.Stderr = os.Stderr
	in, err := clock.StdinPipe() // the server ends when this is closed
	if err != nil {
		return "", nil, err
	}
	out, err := clock.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := clock.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = clock.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		stop()
		return "", nil, errors.New("the clock server did not say where it listens")
	}
	return url, stop, nil
}
