package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An axis is a kind of work, measured at several sizes.
type axis struct {
	name     string
	counts   string   // what a size counts
	about    string   // how it is measured
	subjects []string // what is measured
	sizes    []int
	plots    []string // the figures that are drawn
	measure  func(ctx context.Context, p point) (figures, error)
}

func axes() []axis {
	return []axis{servers(), tools(), accepted(), firstStart(), oneChange(), users(), clients(), sizes(), callers(), sessions(), hop(), logins(), renewals(), approvals()}
}

func axisOf(name string) (axis, error) {
	all := axes()
	if i := slices.IndexFunc(all, func(a axis) bool { return a.name == name }); i >= 0 {
		return all[i], nil
	}
	return axis{}, fmt.Errorf("there is no axis %q", name)
}

// A point is one measurement: a size of an axis, and what is measured there.
type point struct {
	Axis    string `json:"axis"`
	Subject string `json:"subject"`
	N       int    `json:"n"`
}

func (p point) String() string { return p.Axis + " " + p.Subject + " " + strconv.Itoa(p.N) }

// figures are what was measured at a point, by what they are and their unit.
type figures map[string]float64

// inProcess measures a point in a process of its own.
func (p point) inProcess(ctx context.Context, cpuProfile string) (figures, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pointLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, rolePoint, string(spec), cpuProfile)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	var f figures
	return f, json.Unmarshal(text, &f)
}

// runPoint is the process of one point: its arguments are the point and the file of a
// profile, which may be empty.
func runPoint(args []string, stdout io.Writer) (err error) {
	if len(args) != 2 {
		return errors.New("point: want the point and the file of a profile")
	}
	var p point
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return err
	}
	a, err := axisOf(p.Axis)
	if err != nil {
		return err
	}
	if args[1] != "" {
		file, err := os.Create(args[1])
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return errors.Join(err, file.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, file.Close())
		}()
	}
	f, err := a.measure(context.Background(), p)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(f)
}

// A weight is what the process holds.
type weight struct {
	Heap, Resident             float64 // MB
	Goroutines, Files, Threads float64
	CPU                        float64 // seconds, since the process began
}

// weigh returns what the process holds now, after the garbage is collected. What the
// system does not tell is zero.
func weigh() weight {
	runtime.GC()
	runtime.GC() // what had a finalizer
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w := weight{Heap: float64(m.HeapAlloc) / 1e6, Goroutines: float64(runtime.NumGoroutine()), CPU: busy()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
		w.Resident = float64(pages*os.Getpagesize()) / 1e6
	}
	w.Files = float64(entriesOf("/proc/self/fd"))
	w.Threads = float64(entriesOf("/proc/self/task"))
	return w
}

// busy returns the processor time that the process has taken, in seconds.
func busy() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func entriesOf(folder string) int {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	return len(entries)
}

// since adds what the process has taken since before.
func (f figures) since(before weight) { f.between(before, weigh()) }

func (f figures) between(before, after weight) {
	f["heap, MB"] = max(0, after.Heap-before.Heap)
	f["resident, MB"] = after.Resident
	f["goroutines"] = after.Goroutines - before.Goroutines
	f["open files"] = after.Files - before.Files
	f["threads"] = after.Threads
}

// timed returns how long f takes, in milliseconds.
func timed(f func() error) (float64, error) {
	begin := time.Now()
	err := f()
	return millis(time.Since(begin)), err
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// each returns how long one of many runs of f takes, in microseconds, over at least a
// fifth of a second.
func each(f func() error) (float64, error) {
	if err := f(); err != nil {
		return 0, err
	}
	begin, runs := time.Now(), 0
	for runs == 0 || time.Since(begin) < 200*time.Millisecond {
		if err := f(); err != nil {
			return 0, err
		}
		runs++
	}
	return micros(time.Since(begin)) / float64(runs), nil
}
