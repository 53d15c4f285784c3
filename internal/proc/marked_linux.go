package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// EndMarked kills every process that holds the mark in its environment, and
// returns when a look at all processes finds none, but not later than after the
// given time: a process may hang in the kernel.
func EndMarked(mark string, within time.Duration) {
	deadline := time.Now().Add(within)
	killed := map[int]bool{}
	for {
		found := looks.find(mark)
		for _, pid := range found {
			endHolder(pid, mark)
			killed[pid] = true
		}
		if len(found) == 0 || time.Now().After(deadline) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for pid := range killed {
		for !ended(pid) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
	}
}

// ended reports whether a process is gone or a zombie, with its files closed. It
// loses its environment a little before that.
func ended(pid int) bool {
	state := stateOf(pid)
	return state == 0 || state == 'Z' || state == 'X'
}

// stateOf returns the letter for what a process is doing, or zero if there is none.
func stateOf(pid int) byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	if _, state, ok := bytes.Cut(stat, []byte(") ")); ok && len(state) > 0 {
		return state[0]
	}
	return 0
}

// looks are the looks at all processes, which servers that end at the same time share.
var looks sharedLooks

type sharedLooks struct {
	mu      sync.Mutex // guards the following
	looking bool
	next    *look // those that wait for the present one to end
}

// find returns the processes that hold the mark, by a look that begins after the call.
func (s *sharedLooks) find(mark string) []int {
	s.mu.Lock()
	l := s.next
	if l == nil {
		l = &look{self: os.Getpid(), marked: map[string][]int{}, turn: make(chan struct{}, 1), done: make(chan struct{})}
		s.next = l
	}
	l.marked[mark] = nil
	if !s.looking {
		s.looking = true
		l.turn <- struct{}{}
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.marked[mark]
	case <-l.turn:
	}
	s.mu.Lock()
	s.next = nil // who comes from here on waits for another
	s.mu.Unlock()
	l.run()
	close(l.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looking = s.next != nil; s.looking {
		s.next.turn <- struct{}{}
	}
	return l.marked[mark]
}

// A look goes through the environments of all processes, for several marks.
type look struct {
	marked map[string][]int // the processes that hold each mark
	turn   chan struct{}    // holds a token when one of those that wait for it shall look
	done   chan struct{}    // closed at its end
	self   int
	buf    []byte
}

// unsurePatience is how often, a millisecond apart, a process is asked again that
// shows no environment at all. One that is just executing another program shows
// none for a moment, which is longer on a busy machine, where it waits for its turn
// meanwhile; one that was started with none never shows any.
const (
	unsurePatience = 10
	busyPatience   = 250
)

// run finds the processes.
func (l *look) run() {
	unsure := l.among(l.processes())
	for try := 0; try < busyPatience && len(unsure) > 0 && !l.found(); try++ {
		if try >= unsurePatience {
			unsure = slices.DeleteFunc(unsure, asleep)
		}
		time.Sleep(time.Millisecond)
		unsure = l.among(unsure)
	}
}

// found reports whether each mark is held by a process: there will be another look.
func (l *look) found() bool {
	for _, pids := range l.marked {
		if len(pids) == 0 {
			return false
		}
	}
	return true
}

// asleep reports whether a process waits for something to happen, which none does
// that is executing another program.
func asleep(pid int) bool {
	state := stateOf(pid)
	return state != 'R' && state != 'D'
}

// among looks at some processes, and returns those that may yet turn out to hold a mark.
func (l *look) among(pids []int) (unsure []int) {
	for _, pid := range pids {
		marks, ok := l.marks(pid)
		if !ok {
			unsure = append(unsure, pid)
		}
		for _, mark := range marks {
			if found, wanted := l.marked[mark]; wanted {
				l.marked[mark] = append(found, pid)
			}
		}
	}
	return unsure
}

func (l *look) processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != l.self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endHolder kills a process that holds the mark, unless its id has passed to another
// meanwhile: the handle is of the process that has the id now, and so is the environment
// that is read again.
func endHolder(pid int, mark string) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if marks, _ := new(look).marks(pid); slices.Contains(marks, mark) {
		_ = p.Kill()
	}
}

// marks returns the marks that a process holds. It is not ok if the process shows nothing
// at present. Those of other users cannot be read, and hold none.
func (l *look) marks(pid int) (marks []string, ok bool) {
	path := "/proc/" + strconv.Itoa(pid)
	env, readable := l.read(path + "/environ")
	if !readable {
		return nil, true
	}
	if len(env) == 0 {
		// Zombies and threads of the kernel have neither environment nor program.
		_, err := unix.Readlink(path+"/exe", make([]byte, 1))
		return nil, err != nil
	}
	const begin = MarkVariable + "="
	for i := bytes.Index(env, []byte(begin)); i >= 0; i = bytes.Index(env, []byte(begin)) {
		mark, rest, whole := bytes.Cut(env[i:], []byte{0})
		if whole {
			marks = append(marks, string(mark))
		}
		env = rest
	}
	return marks, true
}

// read returns what is in a file, until the next read.
func (l *look) read(path string) (text []byte, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer func() { _ = unix.Close(fd) }()
	for n := 0; ; {
		if n == len(l.buf) {
			l.buf = append(l.buf, make([]byte, max(len(l.buf), 16<<10))...)
		}
		more, err := unix.Read(fd, l.buf[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, false
		case more == 0:
			return l.buf[:n], true
		default:
			n += more
		}
	}
}
