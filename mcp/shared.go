package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/mcp/internal/pages"
	"github.com/mcpbelt/mcpbelt/mcp/internal/topics"
)

// shared is what a client and its connections have in common. It knows neither.
type shared struct {
	name      string
	transport Transport
	opts      ClientOptions
	tracing   *tracing // nil: there is no tracer

	closing context.Context // ends with Close
	close   context.CancelFunc
	wg      sync.WaitGroup // the supervisor

	mu            sync.Mutex // guards the following
	state         State
	changed       feed.Bell // rung when the state or the present connection changes
	onChange      func()    // called then; may be nil
	signals       signal    // that the supervisor has not taken yet
	supervise     func()    // makes the next connection, and ends when nothing is to be done
	superviseDone bool      // supervise has ended, and notify starts it again
	declinedAt    time.Time // when declined questions were logged last

	wake     chan struct{} // has capacity 1 and receives when signals change
	outdated atomic.Uint32 // the lists that have changed and were not announced yet, as listKinds

	service  atomic.Int64 // mean time from sending a request to its end, in nanoseconds; 0: not known
	handling atomic.Int64 // handlers that run
	tokens   atomic.Int64 // progress tokens given out
	awaiting atomic.Int64 // calls that wait for a task
	locks    keylock.Set  // by what is done by one at a time
	pages    pages.Set
	topics   *topics.Set
	level    atomic.Pointer[LoggingLevel] // that the server is to log
	logs     logQueue
}

// showLocked is the one place where the state changes.
func (s *shared) showLocked(now State) {
	now.Since = s.state.Since
	if now.Phase != s.state.Phase || now.Connections != s.state.Connections {
		now.Since = time.Now()
	}
	s.state = now
	s.changed.Ring()
	if s.onChange != nil {
		s.onChange()
	}
}

// declined counts a question that was declined.
func (s *shared) declined(method string) {
	s.mu.Lock()
	s.state.QuestionsDeclined++
	n := s.state.QuestionsDeclined
	tell := s.declinedAt.IsZero() || time.Since(s.declinedAt) >= declinedPause
	if tell {
		s.declinedAt = time.Now()
		s.showLocked(s.state)
	}
	s.mu.Unlock()
	if tell {
		s.opts.Logger.Warn("mcp: the server asks too many questions: declined", "server", s.name, "method", method, "declined", n)
	}
}

// A signal is what the supervisor is to look at.
type signal uint8

const (
	serverNeeded signal = 1 << iota // by a call: try again soon
	renewalWanted
	listsChanged // see outdated
	loginChanged // of the present connection
)

// notify tells the supervisor, and has it go on if it has returned.
func (s *shared) notify(of signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifyLocked(of)
}

func (s *shared) notifyLocked(of signal) {
	s.signals |= of
	poke(s.wake)
	if s.superviseDone {
		s.superviseDone = false
		s.wg.Go(s.supervise)
	}
}

// takeSignals returns which of the signals there were since it was called last.
func (s *shared) takeSignals(of signal) signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.signals & of
	s.signals &^= of
	return found
}

// listChanged takes the announcement that lists of the server have changed. Any
// number of them is one.
func (s *shared) listChanged(kinds listKinds) {
	s.outdated.Or(uint32(kinds))
	s.notify(listsChanged)
}

func (s *shared) logLevel() LoggingLevel {
	if level := s.level.Load(); level != nil {
		return *level
	}
	return ""
}

func (s *shared) announcesNothing() error {
	return WithOutcome(fmt.Errorf("mcp: server %q does not announce changes of resources: %w", s.name, errors.ErrUnsupported), NotSent)
}
