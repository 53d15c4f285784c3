package transport

import (
	"os"
	"os/exec"
	"sync"
	"time"
)

// pipes are the three pipes to a child. They are made here, not by os/exec, so
// that waiting for the process does not wait for its pipes, which processes
// that it started may hold open, and so that writes can have deadlines.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                []*os.File
	closeStdin            sync.Once
}

func newPipes(cmd *exec.Cmd) (*pipes, error) {
	p := &pipes{}
	for _, step := range []func() error{
		func() error { return p.open(&p.stdin, func(r *os.File) { cmd.Stdin = r }, true) },
		func() error { return p.open(&p.stdout, func(w *os.File) { cmd.Stdout = w }, false) },
		func() error { return p.open(&p.stderr, func(w *os.File) { cmd.Stderr = w }, false) },
	} {
		if err := step(); err != nil {
			p.closeTheirs()
			p.closeOurs()
			return nil, err
		}
	}
	widen(p.stdout)
	return p, nil
}

func (p *pipes) open(ours **os.File, give func(theirs *os.File), weWrite bool) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	mine, theirs := r, w
	if weWrite {
		mine, theirs = w, r
	}
	*ours = mine
	p.theirs = append(p.theirs, theirs)
	give(theirs)
	return nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
}

func (p *pipes) closeOurs() {
	if p.stdin != nil {
		_ = p.CloseWrite()
	}
	for _, f := range []*os.File{p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
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

// CloseWrite closes the child's standard input, ending a write that waits.
func (p *pipes) CloseWrite() (err error) {
	p.closeStdin.Do(func() { err = p.stdin.Close() })
	return err
}
