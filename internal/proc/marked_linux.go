package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// EndMarked kills every process that holds the mark in its environment, and
// returns when a look at all processes finds none, but not later than after the
// given time: a process may hang in the kernel.
func EndMarked(mark string, within time.Duration) {
	deadline := time.Now().Add(within)
	killed := map[int]bool{}
	l := &look{mark: []byte("\x00" + mark + "\x00"), self: os.Getpid()}
	for {
		found := l.find()
		for _, pid := range found {
			l.endHolder(pid)
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

// A look goes through the environments of all processes, in search of a mark.
type look struct {
	mark []byte // with a zero byte on either side, as between variables
	self int
	buf  []byte
}

// unsurePatience is how often, a millisecond apart, a process is asked again that
// shows no environment at all. One that is just executing another program shows
// none for a moment, which is longer on a busy machine, where it waits for its turn
// meanwhile; one that was started with none never shows any.
const (
	unsurePatience = 10
	busyPatience   = 250
)

// find returns the processes that hold the mark.
func (l *look) find() []int {
	marked, unsure := l.among(l.processes())
	for try := 0; try < busyPatience && len(unsure) > 0 && len(marked) == 0; try++ { // else there is another look
		if try >= unsurePatience {
			unsure = slices.DeleteFunc(unsure, asleep)
		}
		time.Sleep(time.Millisecond)
		marked, unsure = l.among(unsure)
	}
	return marked
}

// asleep reports whether a process waits for something to happen, which none does
// that is executing another program.
func asleep(pid int) bool {
	state := stateOf(pid)
	return state != 'R' && state != 'D'
}

// among returns which processes hold the mark, and which may yet turn out to.
func (l *look) among(pids []int) (marked, unsure []int) {
	for _, pid := range pids {
		holds, ok := l.holds(pid)
		switch {
		case holds:
			marked = append(marked, pid)
		case !ok:
			unsure = append(unsure, pid)
		}
	}
	return marked, unsure
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
func (l *look) endHolder(pid int) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if holds, _ := l.holds(pid); holds {
		_ = p.Kill()
	}
}

// holds reports whether a process holds the mark. It is not ok if the process shows nothing
// at present. Those of other users cannot be read, and hold none.
func (l *look) holds(pid int) (holds, ok bool) {
	path := "/proc/" + strconv.Itoa(pid)
	env, readable := l.read(path + "/environ")
	if !readable {
		return false, true
	}
	if len(env) == 0 {
		// Zombies and threads of the kernel have neither environment nor program.
		_, err := unix.Readlink(path+"/exe", make([]byte, 1))
		return false, err != nil
	}
	return bytes.HasPrefix(env, l.mark[1:]) || bytes.Contains(env, l.mark), true
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
