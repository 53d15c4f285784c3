//go:build unix

package transport

import (
	"io"
	"syscall"
	"time"
)

// A pipeReader reads a pipe lazily. It is not safe for concurrent use.
type pipeReader struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // read, bound once
	to   *lineReader
	n    int
	err  error
}

// newLazyReader returns a lazyReader for d, or nil if there is none.
func newLazyReader(d duplex) lazyReader {
	p, ok := d.(*pipes)
	if !ok {
		return nil
	}
	raw, err := p.stdout.SyscallConn()
	if err != nil {
		return nil
	}
	r := &pipeReader{raw: raw}
	r.once = r.read
	return r
}

// ReadLazily implements lazyReader.
func (r *pipeReader) ReadLazily(to *lineReader) (int, error) {
	r.to, r.n, r.err = to, 0, nil
	if err := r.raw.Read(r.once); err != nil {
		return 0, err
	}
	if r.n == 0 && r.err == nil {
		return 0, io.EOF
	}
	return r.n, r.err
}

func (r *pipeReader) read(fd uintptr) bool {
	for {
		n, err := syscall.Read(int(fd), r.to.take())
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			r.to.giveBack()
			return false
		}
		r.n, r.err = max(n, 0), err
		return true
	}
}

// InterruptRead implements interruptible.
func (p *pipes) InterruptRead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.stdout.SetReadDeadline(time.Unix(1, 0))
}

// ResumeRead implements interruptible.
func (p *pipes) ResumeRead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.stdout.SetReadDeadline(p.drain)
	return p.drain.IsZero() || time.Now().Before(p.drain)
}
