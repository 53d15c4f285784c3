package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// maxQuestions bounds the server requests that a session has to answer at a time.
	maxQuestions = 64
	// maxSubscribed bounds the resources that a session subscribes to.
	maxSubscribed = 1000
	// maxAnswers and maxAnswerBytes bound the streams of a session that wait for a client to resume them, and
	// what they hold.
	maxAnswers     = 64
	maxAnswerBytes = 16 << 20
	// visitWithin is how long it is waited for a server that says when a user is done with a page.
	visitWithin = time.Hour
)

// A clientSession is a session of a revision before 2026-07-28: over HTTP from initialize until it is
// deleted or idle for too long, and over stdio a connection.
type clientSession struct {
	id     string
	peer   *peer
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	piped  bool                   // it is a connection, and listening all that is said to the client
	may    atomic.Pointer[permit] // what its caller may, by the last request
	level  atomic.Value           // the mcp.LoggingLevel from which log messages are sent; none: none are
	visits atomic.Int32           // that awaitVisit waits for
	underWay

	mu         sync.Mutex     // guards the following; the zero maps are nil, as most sessions are idle
	listening  *stream.Stream // the client's listening stream, which it may not have opened yet
	questions  map[string]*question
	answers    []*stream.Stream
	subscribed map[string]context.CancelFunc
	ended      bool
}

// newSession returns a session, over HTTP or, with all that is said to it, of a connection.
func newSession(id string, p *peer, said *stream.Stream) *clientSession {
	s := &clientSession{id: id, piped: said != nil, listening: cmp.Or(said, stream.New("0")), underWay: underWay{used: time.Now()}}
	s.ctx, s.cancel = context.WithCancel(p.view.gateway.ctx)
	p.session, p.requests = s, &s.underWay
	s.peer = p
	s.may.Store(p.may)
	return s
}

// shown is what the client sees now.
func (s *clientSession) shown() shown { return shown{s.peer.view, s.may.Load()} }

// end ends the session and all that is done for it.
func (s *clientSession) end() {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.listening.End()
	s.answers = nil
	s.mu.Unlock()
	s.cancel()
	s.withdrawAll()
}

// endListening ends the listening stream; the client may open another one.
func (s *clientSession) endListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.piped {
		s.listening.End()
	}
}

// idleSince returns how long the session is unused.
func (s *clientSession) idleSince(now time.Time) time.Duration {
	s.mu.Lock()
	reads := func(out *stream.Stream) bool { return out.State().HasReader }
	is := reads(s.listening) || slices.ContainsFunc(s.answers, reads)
	s.mu.Unlock()
	if is {
		return 0
	}
	return s.underWay.idleSince(now)
}

// expect notes that the client has to answer a question. It reports false if those are too many.
func (s *clientSession) expect(q *question) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.questions) >= maxQuestions {
		return false
	}
	if s.questions == nil {
		s.questions = map[string]*question{}
	}
	s.questions[q.id] = q
	return true
}

func (s *clientSession) forget(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.questions, q.id)
}

// took takes a message of the client that is not to be answered. It reports false if it is a request.
func (s *clientSession) took(m *jsonscan.Message) bool {
	switch {
	case m.IsResponse():
		s.answered(m)
	case m.ID == nil:
		s.noted(m)
	default:
		return false
	}
	return true
}

// answered takes a response of the client. One to a question that is not open is ignored: it was
// withdrawn, or is an attempt to answer that of another session.
func (s *clientSession) answered(m *jsonscan.Message) {
	id, _ := jsonscan.String(m.ID) // empty: it is that of no question
	said := answer{result: slices.Clone(m.Result)}
	if m.Error != nil {
		said.err = &mcp.JSONRPCError{}
		if json.Unmarshal(m.Error, said.err) != nil || said.err.Message == "" {
			said.err = message.Failure(message.CodeInternal, "the client failed")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.questions[id]; q != nil {
		delete(s.questions, id)
		q.answer <- said
	}
}

// awaitVisit tells the client when its user is done with a page that a server wants visited: by the
// id that the client knows it by. Many servers do not say when.
func (s *clientSession) awaitVisit(completed <-chan struct{}, id string) {
	if s.visits.Add(1) > maxQuestions {
		s.visits.Add(-1)
		return
	}
	s.peer.view.gateway.spawn(func() {
		defer s.visits.Add(-1)
		ctx, stop := context.WithTimeout(s.ctx, visitWithin)
		defer stop()
		select {
		case <-completed:
			s.notify(message.Notification(protocol.NoteElicited, map[string]string{"elicitationId": id}, ""))
		case <-ctx.Done():
		}
	})
}

// notify sends a notification to the client by its listening stream, or the one that it has.
func (s *clientSession) notify(m json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening.Put(m, true)
}

// listen returns the listening stream. One that has ended is replaced.
func (s *clientSession) listen() *stream.Stream {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listening.State().IsOver {
		s.listening = stream.New("0")
	}
	if s.ended {
		s.listening.End()
	}
	return s.listening
}

// resumable returns a stream of the session by its id, or nil.
func (s *clientSession) resumable(id string) *stream.Stream {
	if id == "0" {
		return s.listen()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.answers, func(a *stream.Stream) bool { return a.ID == id }); i >= 0 {
		return s.answers[i]
	}
	return nil
}

// keep keeps the stream of an answer for a client that resumes it, and forgets the oldest if they are too many or
// too large: it is called when the stream begins, and when it has the answer.
func (s *clientSession) keep(out *stream.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(slices.DeleteFunc(s.answers, func(a *stream.Stream) bool { return a == out }), out)
	size := 0
	for _, a := range s.answers {
		size += a.Size()
	}
	for len(s.answers) > maxAnswers || len(s.answers) > 1 && size > maxAnswerBytes {
		i := max(0, slices.IndexFunc(s.answers, func(a *stream.Stream) bool { return a.State().IsOver }))
		size -= s.answers[i].Size()
		s.answers = slices.Delete(s.answers, i, i+1)
	}
}

// severity returns how severe a level of log messages is: 0 if there is no such level.
func severity(level mcp.LoggingLevel) int {
	return 1 + slices.Index([]mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, level)
}

// atLeast reports whether a level is at least as severe as another, which may be empty: nothing is.
func atLeast(level, least mcp.LoggingLevel) bool {
	return least != "" && severity(level) >= severity(least)
}
