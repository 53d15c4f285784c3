package proc

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Vitals say how a process is, from its line in /proc. They stay true when its
// id passes to another process.
type Vitals struct {
	pid  int
	mu   sync.Mutex // guards the following
	stat *os.File   // nil if the system does not say
}

// WatchVitals returns the vitals of a process. Close must follow.
func WatchVitals(pid int) *Vitals {
	stat, err := os.Open("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return &Vitals{}
	}
	return &Vitals{pid: pid, stat: stat}
}

// Close ends the look at the process.
func (v *Vitals) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stat != nil {
		_ = v.stat.Close()
		v.stat = nil
	}
}

// Places of fields in /proc/PID/stat, counted from the one after the program's
// name, which is the third.
const (
	statState  = 0
	statFlags  = 6
	statEnd    = 49 // exit code, known as soon as a deadly signal is sent
	statFields = 50
)

// statRoom are buffers for a line of /proc/PID/stat.
var statRoom = sync.Pool{New: func() any { return new([1 << 10]byte) }}

// read returns the fields, as parts of buf, and whether the process exists. It is called
// with the lock held.
func (v *Vitals) read(buf []byte) (fields [statFields][]byte, exists bool) {
	if v.stat == nil {
		return fields, true
	}
	n, err := v.stat.ReadAt(buf, 0)
	if n == 0 && err != nil {
		return fields, false
	}
	return statOf(buf[:n]), true
}

// statOf returns the fields of a line of /proc/PID/stat.
func statOf(line []byte) (fields [statFields][]byte) {
	line = line[bytes.LastIndexByte(line, ')')+1:] // the name may hold anything
	i := 0
	for field := range bytes.FieldsSeq(line) {
		if i == len(fields) {
			break
		}
		fields[i] = field
		i++
	}
	return fields
}

// Doomed reports whether the process has ended, or is about to: it has been sent
// a signal of which it has only not died yet.
func (v *Vitals) Doomed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	buf, _ := statRoom.Get().(*[1 << 10]byte)
	defer statRoom.Put(buf)
	fields, exists := v.read(buf[:])
	if !exists {
		return true
	}
	if state := string(fields[statState]); state == "Z" || state == "X" {
		return true
	}
	const exiting = 0x4 // PF_EXITING
	switch decimal(fields[statEnd]) {
	case 0, uint64(syscall.SIGSTOP), uint64(syscall.SIGTSTP), uint64(syscall.SIGTTIN), uint64(syscall.SIGTTOU):
		return decimal(fields[statFlags])&exiting != 0 // those only stop it
	}
	return true
}

func decimal(digits []byte) (n uint64) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + uint64(c-'0')
	}
	return n
}
