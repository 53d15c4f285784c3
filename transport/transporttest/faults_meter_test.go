//go:build unix

package transporttest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// watchers is how many goroutines of a lagMeter look at the clock: on a busy
// machine one thread can stand still while others run.
const watchers = 4

// A lagMeter notes how late the machine is: goroutines set timers and look how
// long after their time they run. Without it a busy machine would look like a
// slow library.
type lagMeter struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu   sync.Mutex
	due  [watchers]time.Time // when each should run next
	lags []lag               // the long ones, almost in order
}

type lag struct {
	due, ran time.Time
}

func startLagMeter() *lagMeter {
	m := &lagMeter{stop: make(chan struct{})}
	for i := range watchers {
		m.wg.Go(func() { m.watch(i) })
	}
	return m
}

func (m *lagMeter) watch(i int) {
	const every, worthNoting = 3 * time.Millisecond, time.Millisecond
	for {
		due := time.Now().Add(every)
		m.mu.Lock()
		m.due[i] = due
		m.mu.Unlock()
		select {
		case <-time.After(every):
		case <-m.stop:
			return
		}
		if ran := time.Now(); ran.Sub(due) > worthNoting {
			m.mu.Lock()
			m.lags = append(m.lags, lag{due, ran})
			m.mu.Unlock()
		}
	}
}

func (m *lagMeter) close() {
	close(m.stop)
	m.wg.Wait()
}

// hops is through how many goroutines the end of a context passes on its way to
// the caller of a tool. Each can have to wait for the machine.
const hops = 4

// lateness returns for how long the machine was late between from and to, but
// not more than the longest lag for each hop.
func (m *lagMeter) lateness(from, to time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sum, worst time.Duration
	add := func(l lag) {
		if late := l.ran.Sub(l.due); late > 0 && l.due.Before(to) && l.ran.After(from) {
			sum += late
			worst = max(worst, late)
		}
	}
	for _, due := range m.due {
		add(lag{due, time.Now()}) // it may be late just now
	}
	const disorder = time.Second
	for i := len(m.lags) - 1; i >= 0 && m.lags[i].ran.After(from.Add(-disorder)); i-- {
		add(m.lags[i])
	}
	return min(sum, hops*worst)
}

// resources are what must be as before when all is closed.
type resources struct {
	descriptors map[string]int    // by what they lead to
	goroutines  map[string]string // stacks by id
	files       int               // in the folder for temporary files
}

func takeStock() resources {
	descriptors := map[string]int{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			descriptors[to]++
		}
	}
	files, _ := os.ReadDir(os.TempDir())
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	stacks := map[string]string{}
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		id, _, _ := strings.Cut(stack, " [")
		stacks[id] = stack
	}
	return resources{descriptors, stacks, len(files)}
}

// settledStock takes stock when nothing changes: what is just being closed, or made
// anew by a neighbour, would be missed later or found too much.
func settledStock() resources {
	before := takeStock()
	for range 50 {
		<-time.After(20 * time.Millisecond)
		now := takeStock()
		if maps.Equal(now.descriptors, before.descriptors) && len(now.goroutines) == len(before.goroutines) {
			return now
		}
		before = now
	}
	return before
}

// replaces reports whether a goroutine that was not there before is one of a
// connection of net/http, of which there are no more than before: a neighbour's was
// closed because an answer ended late, and another one made.
func replaces(before, now resources, stack string) bool {
	maker := makerOf(stack)
	if !strings.HasPrefix(maker, "net/http.") {
		return false
	}
	count := func(r resources) (n int) {
		for _, other := range r.goroutines {
			if makerOf(other) == maker {
				n++
			}
		}
		return n
	}
	return count(now) <= count(before)
}

// makerOf returns the function that a goroutine was started by.
func makerOf(stack string) string {
	_, maker, _ := strings.Cut(stack, "\ncreated by ")
	maker, _, _ = strings.Cut(maker, " in goroutine")
	return maker
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// leaks returns what is there that was not there before, and the processes that
// carry the cookie. What is only about to end gets some time.
func leaks(before resources, cookie string) []string {
	var left []string
	for deadline := time.Now().Add(healTime); ; {
		left = nil
		now := takeStock()
		for id, stack := range now.goroutines {
			if _, old := before.goroutines[id]; !old && !replaces(before, now, stack) {
				left = append(left, "goroutine: "+stack)
			}
		}
		if total(now.descriptors) > total(before.descriptors) {
			left = append(left, fmt.Sprintf("descriptors: %v, before %v", now.descriptors, before.descriptors))
		}
		if now.files > before.files {
			left = append(left, fmt.Sprintf("temporary files: %d, before %d", now.files, before.files))
		}
		for _, pid := range processesWith(cookie) {
			left = append(left, fmt.Sprintf("process %d", pid))
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		<-time.After(10 * time.Millisecond)
	}
}

// processesWith returns the processes that have the cookie in their environment,
// wherever they have gone.
func processesWith(cookie string) []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if data, err := os.ReadFile(path); err == nil && pid != os.Getpid() && strings.Contains(string(data), cookie) {
			pids = append(pids, pid)
		}
	}
	return pids
}
