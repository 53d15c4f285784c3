package host

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// A processTable is what the system says of all processes, read once when the first
// one is asked for. It belongs to one goroutine.
type processTable struct {
	lines  map[int]processLine
	booted time.Time
}

// A processLine is the line of a process in /proc/PID/stat.
type processLine struct {
	parent  int
	group   int
	ticks   uint64 // of processor time, with children that have ended
	started uint64 // in ticks since the machine was started
	pages   int64  // of memory, shared ones in full
}

// clockTicks is how many ticks a second has in /proc, on all machines.
const clockTicks = 100

// of returns what is known of a process and of those that it has started; nil if there
// is no such child of this process.
func (t *processTable) of(pid int) *Process {
	if pid == 0 {
		return nil
	}
	if t.lines == nil {
		t.read()
	}
	root, ok := t.lines[pid]
	if !ok || root.parent != os.Getpid() {
		return nil
	}
	p := &Process{PID: pid}
	if !t.booted.IsZero() {
		p.Started = t.booted.Add(time.Duration(root.started) * (time.Second / clockTicks))
	}
	for id := range t.family(pid) {
		line := t.lines[id]
		p.Processes++
		p.CPU += time.Duration(line.ticks) * (time.Second / clockTicks)
		own, ok := proportional(id)
		if !ok {
			own, p.Shared = line.pages*int64(os.Getpagesize()), true
		}
		p.Memory += own
	}
	return p
}

// family returns a process, its descendants, and those of its process group, which a
// server that was started here leads.
func (t *processTable) family(pid int) map[int]bool {
	children := map[int][]int{}
	next := []int{pid}
	for id, line := range t.lines {
		children[line.parent] = append(children[line.parent], id)
		if line.group == pid {
			next = append(next, id)
		}
	}
	family := map[int]bool{}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if !family[id] {
			family[id] = true
			next = append(next, children[id]...)
		}
	}
	return family
}

func (t *processTable) read() {
	t.lines = map[int]processLine{}
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat") // it may have ended
		if err != nil {
			continue
		}
		if line, ok := parseProcess(stat); ok {
			t.lines[pid] = line
		}
	}
	stat, _ := os.ReadFile("/proc/stat")
	for line := range bytes.Lines(stat) {
		if seconds, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(seconds)), 10, 64); err == nil {
				t.booted = time.Unix(n, 0)
			}
		}
	}
}

// parseProcess reads the fields of a line of /proc/PID/stat, see proc_pid_stat(5). They
// are counted from the one after the program's name, which may hold anything. Zombies
// take nothing.
func parseProcess(stat []byte) (processLine, bool) {
	const (
		state, parent, group = 0, 1, 2
		work, works          = 11, 4 // utime, stime, cutime, cstime
		started, pages       = 19, 21
	)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= pages || fields[state][0] == 'Z' || fields[state][0] == 'X' {
		return processLine{}, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
		return max(n, 0)
	}
	line := processLine{parent: int(number(parent)), group: int(number(group)), started: uint64(number(started)), pages: number(pages)}
	for i := range works {
		line.ticks += uint64(number(work + i))
	}
	return line, true
}

// proportional returns the memory of a process, with its part of what it shares.
func proportional(pid int) (int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
			fields := bytes.Fields(rest)
			if len(fields) == 0 {
				return 0, false
			}
			n, err := strconv.ParseInt(string(fields[0]), 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}
