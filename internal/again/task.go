// Package again runs a function as often as something has changed, without a goroutine that
// waits in between.
package again

import "sync"

// A Task runs a function on one goroutine: at least once after each [Task.Wake], and never
// twice at the same time. It has the goroutine only while the function runs.
type Task struct {
	run  func()
	work sync.WaitGroup // the goroutine

	mu      sync.Mutex // guards the following
	running bool       // there is a goroutine
	woken   bool       // since the function began
	ended   bool
}

// New returns a Task that runs a function.
func New(run func()) *Task { return &Task{run: run} }

// Wake has the function run, again if it runs now. It does not wait.
func (t *Task) Wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.woken = true; t.running || t.ended {
		return
	}
	t.running = true
	t.work.Go(func() {
		for t.next() {
			t.run()
		}
	})
}

// next reports whether the function is to run; otherwise the goroutine ends.
func (t *Task) next() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.woken = t.woken && !t.ended, false
	return t.running
}

// End returns when the function does not run any more, and has it never run again. What
// it waits for is to be ended before.
func (t *Task) End() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.work.Wait()
}
