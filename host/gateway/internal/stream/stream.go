package stream

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
)

const (
	// keptEvents and keptBytes bound what a stream keeps of what was sent already, and what may
	// wait for a slow client before notifications that can be missed are dropped.
	keptEvents = 1024
	keptBytes  = 1 << 20
	// resumeWithin is how long the questions on a stream wait for a client that has lost it.
	resumeWithin = 5 * time.Second
)

// A Stream holds messages for a client: those about one request, or those of its session. A
// goroutine that has the client's ear takes them out. In revisions with sessions what was taken is
// kept for a while, for a client that has lost it and resumes.
type Stream struct {
	ID    string        // of a stream that can be resumed; empty: it cannot
	Ready chan struct{} // capacity 1: there is something to take, or nothing more will come

	mu      sync.Mutex // guards the following
	events  []message.Message
	first   int // the number of events[0]
	next    int // the number of the next to take
	bytes   int // of events
	ended   bool
	readers int       // attached so far
	present bool      // the last one is there still, and may take
	left    time.Time // when it went, or when the stream began
}

// New returns an empty stream. One with an id can be resumed.
func New(id string) *Stream {
	return &Stream{ID: id, Ready: make(chan struct{}, 1), left: time.Now()}
}

// Put adds a message. One that may be missed is dropped if too many wait.
func (s *Stream) Put(m json.RawMessage, missable bool) { s.add(message.Whole(m), missable) }

// Answer adds the answer to a request.
func (s *Stream) Answer(m message.Message) { s.add(m, false) }

func (s *Stream) add(m message.Message, missable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.first + len(s.events) - s.next
	if s.ended || missable && (waiting >= keptEvents || s.bytes >= keptBytes && waiting > 0) {
		return
	}
	s.events = append(s.events, m)
	s.bytes += m.Size()
	s.trim()
	s.signal()
}

// trim forgets what was taken and is too old to be asked for again.
func (s *Stream) trim() {
	for len(s.events) > 0 && s.first < s.next && (s.ID == "" || len(s.events) > keptEvents || s.bytes > keptBytes) {
		s.bytes -= s.events[0].Size()
		s.events[0] = message.Message{}
		s.events = s.events[1:]
		s.first++
	}
}

func (s *Stream) signal() {
	select {
	case s.Ready <- struct{}{}:
	default:
	}
}

// End says that nothing more will come.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

// Take returns the next message and its number, for the given reader. Ok is false if there is none now;
// over says that none will come, or that the reader was detached, or another has taken its place.
func (s *Stream) Take(reader int) (m message.Message, number int, ok, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader != s.readers || !s.present {
		return message.Message{}, 0, false, true
	}
	if s.next == s.first+len(s.events) {
		return message.Message{}, 0, false, s.ended
	}
	m, number = s.events[s.next-s.first], s.next
	s.next++
	s.trim()
	return m, number, true, false
}

// Attach makes the caller the reader of the stream, from the message of the given number on, or
// behind what was taken last if that is negative. It reports false if that message is not kept any more.
func (s *Stream) Attach(from int) (reader int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from >= 0 {
		if from < s.first || from > s.first+len(s.events) {
			return 0, false
		}
		s.next = from
	}
	s.readers++
	s.present = true
	s.signal()
	return s.readers, true
}

// Detach ends a reader's time, unless another has come.
func (s *Stream) Detach(reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader == s.readers && s.present {
		s.present, s.left = false, time.Now()
	}
}

// Size returns how many bytes the stream holds.
func (s *Stream) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// A State is where a stream stands.
type State struct {
	HasReader bool // a client reads it
	IsLost    bool // the client has been away for too long: at once if it cannot resume the stream
	HasMore   bool // there is something to take
	IsOver    bool // it has ended, and all of it was taken
}

// State returns where the stream stands now.
func (s *Stream) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := s.next < s.first+len(s.events)
	lost := !s.present && (s.ID == "" || time.Since(s.left) >= resumeWithin)
	return State{HasReader: s.present, IsLost: lost, HasMore: more, IsOver: s.ended && !more}
}
