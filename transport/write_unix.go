//go:build unix

package transport

import "syscall"

// A pipeWriter writes to a pipe without ever waiting for its reader. It is not
// safe for concurrent use.
type pipeWriter struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // write, bound once
	b    []byte
	n    int
	err  error
}

// newTryWriter returns a tryWriter for d, or nil if there is none.
func newTryWriter(d duplex) tryWriter {
	p, ok := d.(*pipes)
	if !ok {
		return nil
	}
	raw, err := p.stdin.SyscallConn()
	if err != nil {
		return nil
	}
	w := &pipeWriter{raw: raw}
	w.once = w.write
	return w
}

// TryWrite implements tryWriter.
func (w *pipeWriter) TryWrite(b []byte) (int, error) {
	w.b, w.n, w.err = b, 0, nil
	if err := w.raw.Write(w.once); err != nil {
		w.err = err
	}
	w.b = nil
	return w.n, w.err
}

func (w *pipeWriter) write(fd uintptr) bool {
	for w.n < len(w.b) {
		n, err := syscall.Write(int(fd), w.b[w.n:])
		switch {
		case n > 0:
			w.n += n
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true // the pipe is full
		default:
			w.err = err
			return true
		}
	}
	return true
}
