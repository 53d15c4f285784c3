package mcp

import (
	"context"
	"fmt"
	"time"
)

const (
	// healthPatience is how long the server may take to answer a ping.
	healthPatience = 10 * time.Second
	// maxMisses is how many pings in a row may go unanswered.
	maxMisses = 3
	// maxUnanswered is from how many requests in a row, given up without a sign of
	// life since, a server counts as stuck: what it was asked is no excuse any more.
	maxUnanswered = 3
)

// An UnresponsiveError reports a server that was given up because it gave no
// sign of life for a long time, though nothing kept it busy as far as is known. See
// HealthInterval of [ClientOptions].
//
//cure:call again: the client makes a new connection; if the server is merely slow, raise HealthInterval
type UnresponsiveError struct {
	For time.Duration // since the last sign of life
}

func (e *UnresponsiveError) Error() string {
	return fmt.Sprintf("no sign of life for %v, not even an answer to a ping", e.For.Round(time.Second))
}

// unanswered are requests in a row that were given up.
type unanswered struct {
	n     int
	heard int64 // the last sign of life, which came before the first of them was
	begun int   // requests that had begun by then
}

// gaveUp notes that a request was given up.
func (l *life) gaveUp() {
	heard := l.pulse.Heard()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unanswered.n == 0 || l.unanswered.heard != heard {
		l.unanswered = unanswered{heard: heard, begun: l.begun}
	}
	l.unanswered.n++
}

// occupied reports whether requests may be what keeps the server from giving a sign
// of life. Once it is stuck these are only those from before the first that was given
// up.
func (l *life) occupied() bool {
	heard := l.pulse.Heard()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unanswered.n < maxUnanswered || l.unanswered.heard != heard {
		return len(l.flights) > 0 || l.pulse.MayBeBusy()
	}
	for f := range l.flights {
		if f.number <= l.unanswered.begun {
			return true
		}
	}
	return false
}

// watchHealth pings a silent server until the connection ends, and gives it up if it does
// not answer. A server that is busy, with requests or by itself, is not given up: it
// answers when it is done. For what its requests were, see occupied.
func (c *Client) watchHealth(l *life) {
	interval := c.opts.HealthInterval
	if interval < 0 || l.conn.Info().Stateless {
		return
	}
	l.working() // the handshake was
	misses := 0
	var look func()
	look = func() {
		due := interval
		switch silence := l.pulse.Silence(); {
		case silence < interval:
			misses, due = 0, interval-silence
		case l.working() || l.occupied():
			misses = 0
		default:
			asked := time.Now()
			if c.pinged(l) {
				misses = 0
				l.working() // the answer is no other sign
			} else if misses++; misses >= maxMisses && !l.occupied() {
				l.fallSick(&UnresponsiveError{l.pulse.Silence()})
				return
			}
			due = max(0, interval-time.Since(asked))
		}
		l.after(due, look)
	}
	l.after(interval, look)
}

// pinged reports whether the server gives a sign of life when it is asked for
// one.
func (c *Client) pinged(l *life) bool {
	ctx, stop := context.WithTimeout(l.alive, min(healthPatience, c.opts.HealthInterval))
	defer stop()
	before := l.pulse.Heard()
	_, err := c.aside(ctx, l, l.ping(), l.meta)
	if err == nil || ctx.Err() == nil {
		l.pulse.Beat() // a refusal is a sign of life; a connection that broke ends by itself
	}
	return l.pulse.Heard() != before
}
