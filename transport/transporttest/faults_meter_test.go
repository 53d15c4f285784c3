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

type lag struct{ due, ran time.Time }

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

// takeStock counts what must not be more when all is closed.
func takeStock() map[string]int {
	descriptors, _ := os.ReadDir("/proc/self/fd")
	files, _ := os.ReadDir(os.TempDir())
	stock := map[string]int{"descriptors": len(descriptors), "temporary files": len(files)}
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		_, maker, _ := strings.Cut(stack, "\ncreated by ")
		maker, _, _ = strings.Cut(maker, " in goroutine")
		stock["goroutines of "+maker]++
	}
	return stock
}

// settledStock takes stock when nothing changes: what is just being closed, or made
// anew by a neighbour, would be missed later or found too much.
func settledStock() map[string]int {
	before := takeStock()
	for range 50 {
		<-time.After(20 * time.Millisecond)
		now := takeStock()
		if maps.Equal(now, before) {
			return now
		}
		before = now
	}
	return before
}

// leaks returns what there is more than before, and the processes that carry the
// cookie. What is only about to end gets some time.
func leaks(before map[string]int, cookie string) (left []string) {
	for deadline := time.Now().Add(healTime); ; <-time.After(10 * time.Millisecond) {
		left = nil
		for what, n := range takeStock() {
			if n > before[what] {
				left = append(left, fmt.Sprintf("%s: %d, before %d", what, n, before[what]))
			}
		}
		for _, pid := range processesWith(cookie) {
			left = append(left, fmt.Sprintf("process %d", pid))
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
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
