package transport

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// endMarked kills every process that holds the mark in its environment, and
// returns when a look at all processes finds none, but not later than after the
// given time: a process may hang in the kernel.
func endMarked(mark string, within time.Duration) {
	l := look{mark: []byte(mark + "\x00"), self: os.Getpid(), buf: make([]byte, 16<<10), killed: map[int]bool{}}
	deadline := time.Now().Add(within)
	for l.kill() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	for pid := range l.killed {
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

// A look goes through the environments of all processes.
type look struct {
	mark   []byte // with the zero that ends it
	self   int
	buf    []byte
	killed map[int]bool // by process id
}

// unsurePatience is how often, a millisecond apart, a process is asked again that
// shows no environment at all. One that is just executing another program shows
// none for a moment, which is longer on a busy machine, where it waits for its turn
// meanwhile; one that was started with none never shows any.
const (
	unsurePatience = 10
	busyPatience   = 250
)

// kill kills the marked processes, and reports whether it found any.
func (l *look) kill() bool {
	found, unsure := l.killAmong(l.processes())
	for try := 0; try < busyPatience && len(unsure) > 0 && !found; try++ {
		if try >= unsurePatience {
			unsure = slices.DeleteFunc(unsure, asleep)
		}
		time.Sleep(time.Millisecond)
		found, unsure = l.killAmong(unsure)
	}
	return found
}

// asleep reports whether a process waits for something to happen, which none does
// that is executing another program.
func asleep(pid int) bool {
	state := stateOf(pid)
	return state != 'R' && state != 'D'
}

func (l *look) killAmong(pids []int) (found bool, unsure []int) {
	for _, pid := range pids {
		switch l.holds(pid) {
		case yes:
			found = true
			l.end(pid)
		case maybe:
			unsure = append(unsure, pid)
		}
	}
	return found, unsure
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

// end kills the process, unless its id has passed to another meanwhile: the
// handle is of whoever has the id now, and so is the environment that is read
// again.
func (l *look) end(pid int) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if l.holds(pid) == yes && p.Kill() == nil {
		l.killed[pid] = true
	}
}

type answer int

const (
	no answer = iota
	yes
	maybe
)

// holds says whether a process holds the mark. Those of other users cannot be
// read, and do not.
func (l *look) holds(pid int) answer {
	path := "/proc/" + strconv.Itoa(pid)
	env, ok := l.read(path + "/environ")
	switch {
	case !ok:
		return no
	case bytes.Contains(env, l.mark):
		return yes
	case len(env) > 0:
		return no
	}
	// Zombies and threads of the kernel have neither environment nor program.
	if _, err := unix.Readlink(path+"/exe", make([]byte, 1)); err == nil {
		return maybe
	}
	return no
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
			l.buf = append(l.buf, make([]byte, len(l.buf))...)
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
