package transport

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

const (
	// stallTime is how long a peer may write nothing in the middle of a message.
	stallTime = 30 * time.Second
	// stallLooks is how often the time is looked at until it is over. When this
	// process was suspended itself, one look is due at once, and not the others.
	stallLooks = 3
)

var errStalled = fmt.Errorf("the server began a message and wrote nothing more for %v", stallTime)

// A stall is the wait for the rest of a message. Only one goroutine at a time starts
// and stops it.
type stall struct {
	over func() // called once if the wait is too long

	mu      sync.Mutex // guards the following
	timer   *time.Timer
	waiting bool
	looks   int
}

// start begins to wait, unless that has begun already.
func (s *stall) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting {
		return
	}
	s.waiting, s.looks = true, 0
	if s.timer == nil {
		s.timer = time.AfterFunc(stallTime/stallLooks, s.look)
	} else {
		s.timer.Reset(stallTime / stallLooks)
	}
}

// stop ends the wait.
func (s *stall) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting {
		s.waiting = false
		s.timer.Stop()
	}
}

func (s *stall) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.looks++; {
	case !s.waiting:
	case s.looks < stallLooks:
		s.timer.Reset(stallTime / stallLooks)
	default:
		s.waiting = false
		s.over()
	}
}

// beginsMessage reports whether text is the beginning of a message, or of a batch of
// them, and not of a line of another kind.
func beginsMessage(text []byte) bool {
	const blanks = " \t\r"
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), blanks)
	if rest, batch := bytes.CutPrefix(text, []byte("[")); batch {
		text = bytes.TrimLeft(rest, blanks)
	}
	return len(text) > 0 && text[0] == '{'
}
