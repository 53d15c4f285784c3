package codemode

import (
	"sync"
	"time"
)

// A clock rings once its time is over. It stands while anybody has it stopped.
type clock struct {
	mu    sync.Mutex // guards the following
	timer *time.Timer
	left  time.Duration // when it was started last
	since time.Time     // when that was
	stops int
}

// newClock returns a clock that runs.
func newClock(d time.Duration, ring func()) *clock {
	return &clock{timer: time.AfterFunc(d, ring), left: d, since: time.Now()}
}

// stop stops the clock until what it returns is called.
func (c *clock) stop() (over func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stops++; c.stops == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
	return sync.OnceFunc(c.start)
}

func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stops--; c.stops == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// end stops the clock for good.
func (c *clock) end() { c.stop() }
