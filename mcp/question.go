package mcp

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"
)

// A question is an elicitation or a sampling: what a server wants of a human.

const (
	// questionBurst is how many times MaxQuestions a connection can ask at once, and
	// questionPause the time after which it can ask once more.
	questionBurst = 4
	questionPause = time.Second
	// declinedPause is how long after telling of declined questions no more are told of.
	declinedPause = 10 * time.Second
)

// errTooManyQuestions declines a question that is no elicitation.
const errTooManyQuestions = refusal("too many questions")

func isQuestion(method string) bool { return method == methodElicit || method == methodSample }

// asked counts the questions in the course of one request.
type asked struct{ n atomic.Int64 }

// more counts up to n questions, as far as limit lets it, and returns how many.
func (a *asked) more(n, limit int64) int64 {
	n = min(n, max(0, limit-a.n.Load()))
	a.n.Add(n)
	return n
}

// more counts a question that belongs to one of the requests on their way, though
// nobody knows to which. It reports whether there is room for it, or no such request.
func (l *life) more(limit int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	room, none := int64(0), true
	for f := range l.flights {
		if of := f.request.asked; of != nil {
			room += max(0, limit-of.n.Load())
			none = false
		}
	}
	if none {
		return true
	}
	if l.questions >= room {
		return false
	}
	l.questions++
	return true
}

// settleLocked counts as many questions as there is room for as those of a request that
// ends, so that one that asks little is not at a loss for it.
func (l *life) settleLocked(of *asked) {
	if of != nil && l.questions > 0 {
		l.questions -= of.more(l.questions, l.tap.client.maxQuestions())
	}
}

// An allowance is how many questions a connection may ask, whatever for.
type allowance struct {
	mu   sync.Mutex
	full time.Time // when it is as large as at first
}

// take takes a question from an allowance of size at most. It reports whether there is
// one.
func (a *allowance) take(size int64) bool {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full.Before(now) {
		a.full = now
	}
	if a.full.Sub(now) > time.Duration(size-1)*questionPause {
		return false
	}
	a.full = a.full.Add(questionPause)
	return true
}

func (c *Client) maxQuestions() int64 {
	const most = 1 << 20 // more is no bound
	return int64(min(c.opts.MaxQuestions, most))
}

// mayAsk counts a question of the server. It reports whether it may be asked, and tells
// the program if not. Of is the request that it belongs to; nil if nobody knows.
func (t *tap) mayAsk(method string, of *asked) bool {
	limit := t.client.maxQuestions()
	may := true
	if of != nil {
		may = of.more(1, limit) == 1
	} else if l := t.life.Load(); l != nil {
		may = l.more(limit)
	}
	if may && t.allowance.take(questionBurst*limit) {
		return true
	}
	t.client.declined(method)
	return false
}

// declined counts a question that was declined.
func (c *Client) declined(method string) {
	c.mu.Lock()
	s := c.state
	s.QuestionsDeclined++
	tell := c.declinedAt.IsZero() || time.Since(c.declinedAt) >= declinedPause
	if tell {
		c.declinedAt = time.Now()
		c.setLocked(s, c.current)
	} else {
		c.state = s
	}
	c.mu.Unlock()
	if tell {
		c.opts.Logger.Warn("mcp: the server asks too many questions: declined", "server", c.name, "method", method, "declined", s.QuestionsDeclined)
	}
}

// declinedAnswer is the answer to a question that the user was not asked.
func declinedAnswer(method string) (json.RawMessage, error) {
	if method == methodElicit {
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	return nil, errTooManyQuestions
}
