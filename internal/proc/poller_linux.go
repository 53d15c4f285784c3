package proc

import (
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// poller waits for all local servers of this process: until one writes to standard error,
// or ends. It owns one goroutine, as long as there is something to wait for.
var poller pollerState

type pollerState struct {
	mu      sync.Mutex // guards the following
	epoll   *os.File   // nil without watches
	raw     syscall.RawConn
	done    chan struct{} // closed when the goroutine has ended
	watches map[int32]*Watch
	next    int32
}

// A Watch calls a function each time that a descriptor can be read.
type Watch struct {
	id    int32
	raw   syscall.RawConn // of the descriptor
	ready func()          // called on a goroutine of its own, not again before again
}

// WatchReadable calls ready when f can be read, or is at its end; after that, once for
// each call of Again. It returns nil if the system cannot do that. End must follow.
func WatchReadable(f *os.File, ready func()) *Watch {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	p := &poller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoll == nil && !p.startLocked() {
		return nil
	}
	p.next++
	w := &Watch{id: p.next, raw: raw, ready: ready}
	p.watches[w.id] = w
	if p.controlLocked(unix.EPOLL_CTL_ADD, w) != nil {
		p.removeLocked(w)
		return nil
	}
	return w
}

// Again waits for the descriptor once more.
func (w *Watch) Again() {
	p := &poller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches[w.id] == w {
		_ = p.controlLocked(unix.EPOLL_CTL_MOD, w)
	}
}

// End ends the watch. A call of ready may still be under way. The last one to end
// waits for the goroutine to end.
func (w *Watch) End() {
	p := &poller
	p.mu.Lock()
	var done chan struct{}
	if p.watches[w.id] == w {
		_ = p.controlLocked(unix.EPOLL_CTL_DEL, w)
		done = p.removeLocked(w)
	}
	p.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (p *pollerState) startLocked() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.SetNonblock(fd, true) // so that the runtime's poller waits for it
	epoll := os.NewFile(uintptr(fd), "epoll")
	raw, err := epoll.SyscallConn()
	if err != nil {
		_ = epoll.Close()
		return false
	}
	p.epoll, p.raw, p.done, p.watches = epoll, raw, make(chan struct{}), map[int32]*Watch{}
	go p.run(raw, p.done)
	return true
}

// removeLocked takes a watch out. It returns a channel to wait on if that was the last.
func (p *pollerState) removeLocked(w *Watch) (done chan struct{}) {
	delete(p.watches, w.id)
	if len(p.watches) > 0 {
		return nil
	}
	_ = p.epoll.Close() // which ends the goroutine
	done = p.done
	p.epoll, p.raw, p.done, p.watches = nil, nil, nil, nil
	return done
}

func (p *pollerState) controlLocked(op int, w *Watch) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: w.id}
	var err error
	outer := p.raw.Control(func(epoll uintptr) {
		inner := w.raw.Control(func(fd uintptr) { err = unix.EpollCtl(int(epoll), op, int(fd), &event) })
		if err == nil {
			err = inner
		}
	})
	if err == nil {
		err = outer
	}
	return err
}

// run is the goroutine.
func (p *pollerState) run(raw syscall.RawConn, done chan struct{}) {
	defer close(done)
	var events [64]unix.EpollEvent
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events[:], 0)
			return n > 0
		})
		if err != nil {
			return
		}
		p.mu.Lock()
		for _, e := range events[:n] {
			if w := p.watches[e.Fd]; w != nil {
				go w.ready()
			}
		}
		p.mu.Unlock()
	}
}

// ReadNow reads what is there, without waiting. With nothing there it returns ErrNothing.
func ReadNow(raw syscall.RawConn, b []byte) (n int, err error) {
	outer := raw.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), b)
		return true
	})
	switch {
	case outer != nil:
		return 0, outer
	case err == unix.EAGAIN || err == unix.EINTR:
		return 0, ErrNothing
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// OpenEnd returns a file that can be read when a child has ended, or nil if the system has
// none. To wait in waitid takes a thread for each child.
func OpenEnd(pid int) *os.File {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "pidfd")
}

// HasEnded reports whether a child, which is not reaped yet, has ended.
func HasEnded(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}
