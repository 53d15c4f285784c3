package transport

import (
	"io"
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
	// unread is the child's end of its stdin, kept to take back from it what
	// the child has not read.
	unread     *os.File
	closeStdin sync.Once
	noise      func(line string) // may be nil

	mu    sync.Mutex // guards the following, and orders deadlines for stdout
	drain time.Time  // when nothing more is waited for; zero while the process lives
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
	p.unread = keepReadable(p.theirs[0])
	widen(p.stdout)
	return p, nil
}

// Noise takes a line that is no message.
func (p *pipes) Noise(line []byte) {
	if p.noise != nil {
		p.noise(string(line[:min(len(line), longestLine)]))
	}
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
	for _, f := range []*os.File{p.stdout, p.stderr, p.unread} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// drainUntil makes reading end at the given time, if the output has not ended
// before.
func (p *pipes) drainUntil(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drain = t
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

// TakeBack implements duplex.
func (p *pipes) TakeBack() int64 {
	if p.unread == nil {
		return 0
	}
	return takeBack(p.unread)
}

// A ring keeps the last bytes of what it reads.
type ring struct {
	onLine func(string)
	done   chan struct{} // closed at the end of input

	mu   sync.Mutex
	buf  []byte
	size int
}

// longestLine is where a line is cut for the callback.
const longestLine = 4 << 10

func newRing(size int, onLine func(string)) *ring {
	return &ring{onLine: onLine, done: make(chan struct{}), size: size}
}

// readFrom reads r to its end. It never stops reading before, or the child
// would block on a full pipe.
func (r *ring) readFrom(src io.Reader) {
	defer close(r.done)
	buf := make([]byte, 4<<10)
	var line []byte
	for {
		n, err := src.Read(buf)
		r.keep(buf[:n])
		if r.onLine != nil {
			line = r.lines(append(line, buf[:n]...))
		}
		if err != nil {
			if len(line) > 0 {
				r.onLine(string(line))
			}
			return
		}
	}
}

func (r *ring) keep(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, b...)
	if over := len(r.buf) - r.size; over > 0 {
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
}

// lines reports the whole lines in text and returns what is left.
func (r *ring) lines(text []byte) []byte {
	start := 0
	for i, c := range text {
		if c == '\n' || i-start == longestLine {
			r.onLine(string(text[start:i]))
			start = i
			if c == '\n' {
				start++
			}
		}
	}
	return append([]byte(nil), text[start:]...)
}

// waitEOF waits for the end of input, which the reader's deadline bounds.
func (r *ring) waitEOF() { <-r.done }

// tail returns the last n bytes, from the beginning of a line if there is one.
func (r *ring) tail(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.buf
	if len(text) > n {
		text = text[len(text)-n:]
		for i, c := range text {
			if c == '\n' {
				text = text[i+1:]
				break
			}
		}
	}
	return printable(text)
}

// printable replaces control characters, which could steer a terminal.
func printable(text []byte) string {
	out := []rune(string(text))
	for i, r := range out {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			out[i] = '\uFFFD'
		}
	}
	return string(out)
}
