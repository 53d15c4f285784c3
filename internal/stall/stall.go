// Package stall notices a peer that begins something and does not go on.
package stall

import (
	"fmt"
	"sync"
	"time"
)

const (
	// patience is how long a peer may write nothing in the middle of a message.
	patience = 30 * time.Second
	// looks is how often the time is looked at until it is over. When this
	// process was suspended itself, one look is due at once, and not the others.
	looks = 3
)

// Err says that the wait was too long.
var Err = fmt.Errorf("the server began a message and wrote nothing more for %v", patience)

// A Watch is the wait for the rest of a message, for 30 seconds at a time. Only one
// goroutine at a time starts and stops it.
type Watch struct {
	// Over is called once if the wait is too long.
	Over func()

	mu      sync.Mutex // guards the following
	timer   *time.Timer
	waiting bool
	looked  int
}

// Start begins to wait, unless that has begun already.
func (w *Watch) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting {
		return
	}
	w.waiting, w.looked = true, 0
	if w.timer == nil {
		w.timer = time.AfterFunc(patience/looks, w.look)
	} else {
		w.timer.Reset(patience / looks)
	}
}

// Stop ends the wait.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting {
		w.waiting = false
		w.timer.Stop()
	}
}

func (w *Watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.looked++; {
	case !w.waiting:
	case w.looked < looks:
		w.timer.Reset(patience / looks)
	default:
		w.waiting = false
		w.Over()
	}
}
