package transport

import "sync"

// tasks are the goroutines that a connection owns.
type tasks struct {
	mu     sync.Mutex // orders wg.Add before the Wait of wait
	wg     sync.WaitGroup
	closed bool
}

// run runs f on a goroutine that wait waits for. It does nothing, and reports
// so, once wait was called.
func (t *tasks) run(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wg.Go(f)
	return true
}

// wait waits for all tasks, which its caller must have ended.
func (t *tasks) wait() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wg.Wait()
}
