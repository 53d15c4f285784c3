package transport

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// pipes are the three pipes to a child. They are made here, not by os/exec, so
// that waiting for the process does not wait for its pipes, which processes
// that it started may hold open, and so that writes can have deadlines.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                []*os.File
}

func newPipes(cmd *exec.Cmd) (*pipes, error) {
	in, stdin, inErr := os.Pipe()
	stdout, out, outErr := os.Pipe()
	stderr, diagnostics, err := os.Pipe()
	p := &pipes{stdin, stdout, stderr, []*os.File{in, out, diagnostics}}
	if err = errors.Join(inErr, outErr, err); err != nil {
		p.closeTheirs()
		p.closeOurs()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, diagnostics
	widen(p.stdout)
	return p, nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		_ = f.Close() // of none, if it could not be made
	}
}

func (p *pipes) closeOurs() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// drainUntil makes reading end at the given time, if the output has not ended
// before.
func (p *pipes) drainUntil(t time.Time) {
	_ = p.stdout.SetReadDeadline(t)
	_ = p.stderr.SetReadDeadline(t)
}

func (p *pipes) Read(b []byte) (int, error)         { return p.stdout.Read(b) }
func (p *pipes) Write(b []byte) (int, error)        { return p.stdin.Write(b) }
func (p *pipes) SetWriteDeadline(t time.Time) error { return p.stdin.SetWriteDeadline(t) }
