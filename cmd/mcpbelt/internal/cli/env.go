// Package cli has what all commands of mcpbelt share: the environment that they run in,
// the table of exit codes, errors and output.
package cli

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/term"

	"github.com/mcpbelt/mcpbelt/internal/statedir"
)

// An Env is what a command knows of the process that it runs in. Tests make their own.
// Its fields are not changed while a command runs.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// InTerminal, OutTerminal and ErrTerminal say which of the three is a terminal.
	InTerminal, OutTerminal, ErrTerminal bool
	// Width is how many columns the terminal has; 0 if there is none.
	Width int

	// Lookup returns the value of a variable of the environment and whether it is set.
	Lookup func(name string) (string, bool)
	// Dir is the working directory, absolute, or empty if it is not known.
	Dir string
	// StateDir is the folder that keeps what lasts between runs, or empty if there is none.
	StateDir string
	// Browse opens a page in the user's browser. Nil: with the program that the system has
	// for that.
	Browse func(ctx context.Context, url string) error
	// Now returns the time.
	Now func() time.Time
}

// Process returns the environment of this process.
func Process() *Env {
	e := &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Lookup:      os.LookupEnv,
		StateDir:    statedir.Folder(""),
		Now:         time.Now,
	}
	e.Dir, _ = os.Getwd()
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && e.Width == 0 {
			e.Width = width
		}
	}
	if e.OutTerminal && e.Width == 0 {
		e.Width = 80
		if n, err := strconv.Atoi(e.Var("COLUMNS")); err == nil && n > 0 {
			e.Width = n
		}
	}
	return e
}

// Var returns the value of a variable of the environment, empty if it is not set.
func (e *Env) Var(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// colors reports whether escape sequences may go to the terminal.
func (e *Env) colors() bool { return e.Var("NO_COLOR") == "" && e.Var("TERM") != "dumb" }

// Version returns the version of the module that the program was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// CollectAt has garbage collected when the memory in use has grown by a percentage, unless the user says when.
func CollectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
