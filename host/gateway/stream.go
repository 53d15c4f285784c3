package gateway

import (
	"encoding/json"
	"sync"
	"time"
)

const (
	// keptEvents and keptBytes bound what a stream keeps of what was sent already, and what may
	// wait for a slow client before notifications that can be missed are dropped.
	keptEvents = 1024
	keptBytes  = 1 << 20
	// maxWaiting bounds the answers that wait for a client on the one stream of its connection: while there
	// are more, it makes no further requests.
	maxWaiting = 16 << 20
	// resumeWithin is how long the questions on a stream wait for a client that has lost it.
	resumeWithin = 5 * time.Second
)

// A stream holds messages for a client: those about one request, or those of its session. A
// goroutine that has the client's ear takes them out. In revisions with sessions what was taken is
// kept for a while, for a client that has lost it and resumes.
type stream struct {
	id    string        // of a stream that can be resumed; empty: it cannot
	ready chan struct{} // capacity 1: there is something to take, or nothing more will come

	mu      sync.Mutex // guards the following
	events  []message
	first   int // the number of events[0]
	next    int // the number of the next to take
	bytes   int // of events
	dropped int
	ended   bool
	readers int           // attached so far
	present bool          // the last one is there still, and may take
	left    time.Time     // when it went; zero: none was there
	gone    chan struct{} // closed when no reader has come for a while; nil: no one has asked
	timer   *time.Timer   // that closes gone; nil while a reader is present
}

func newStream(id string) *stream {
	return &stream{id: id, ready: make(chan struct{}, 1)}
}

// put adds a message. One that may be missed is dropped if too many wait.
func (s *stream) put(m json.RawMessage, missable bool) { s.add(message{head: m}, missable) }

// answer adds the answer to a request.
func (s *stream) answer(m message) { s.add(m, false) }

func (s *stream) add(m message, missable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.first + len(s.events) - s.next
	if s.ended || missable && (waiting >= keptEvents || s.bytes >= keptBytes && waiting > 0) {
		s.dropped++
		return
	}
	s.events = append(s.events, m)
	s.bytes += m.size()
	s.trim()
	s.signal()
}

// trim forgets what was taken and is too old to be asked for again.
func (s *stream) trim() {
	for len(s.events) > 0 && s.first < s.next && (s.id == "" || len(s.events) > keptEvents || s.bytes > keptBytes) {
		s.bytes -= s.events[0].size()
		s.events[0] = message{}
		s.events = s.events[1:]
		s.first++
	}
}

func (s *stream) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// end says that nothing more will come.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

// take returns the next message and its number, for the given reader. Ok is false if there is none now;
// over says that none will come, or that the reader was detached, or another has taken its place.
func (s *stream) take(reader int) (m message, number int, ok, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader != s.readers || !s.present {
		return message{}, 0, false, true
	}
	if s.next == s.first+len(s.events) {
		return message{}, 0, false, s.ended
	}
	m, number = s.events[s.next-s.first], s.next
	s.next++
	s.trim()
	return m, number, true, false
}

// attach makes the caller the reader of the stream, from the message of the given number on, or
// behind what was taken last if that is negative. It reports false if that message is not kept any more.
func (s *stream) attach(from int) (reader int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from >= 0 {
		if from < s.first || from > s.first+len(s.events) {
			return 0, false
		}
		s.next = from
	}
	s.readers++
	if s.timer != nil && !s.timer.Stop() {
		s.gone = nil // it is closed
	}
	s.present, s.timer = true, nil
	s.signal()
	return s.readers, true
}

// detach ends a reader's time, unless another has come.
func (s *stream) detach(reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader != s.readers || !s.present {
		return
	}
	s.present, s.left = false, time.Now()
	s.expect()
}

// expect has gone closed if no reader comes in time.
func (s *stream) expect() {
	if gone := s.gone; gone != nil {
		wait := time.Until(s.left.Add(resumeWithin))
		if s.id == "" {
			wait = 0 // it cannot come back
		}
		s.timer = time.AfterFunc(wait, func() { close(gone) })
	}
}

// isFull reports whether so much waits for the client that it should take that first.
func (s *stream) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id == "" && s.bytes >= maxWaiting
}

// size returns how many bytes the stream holds.
func (s *stream) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// hasReader reports whether a client reads the stream.
func (s *stream) hasReader() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present
}

// hasMore reports whether there is something to take.
func (s *stream) hasMore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next < s.first+len(s.events)
}

// isOver reports whether the stream has ended and all of it was taken.
func (s *stream) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && s.next == s.first+len(s.events)
}

// lost returns a channel that is closed when the client has been away for too long.
func (s *stream) lost() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone == nil {
		s.gone = make(chan struct{})
		if !s.present {
			s.expect()
		}
	}
	return s.gone
}
