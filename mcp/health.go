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

// noteGivenUp notes that a request was given up.
func (conn *connection) noteGivenUp() {
	heard := conn.pulse.Heard()
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.unanswered.n == 0 || conn.unanswered.heard != heard {
		conn.unanswered = unanswered{heard: heard, begun: conn.started}
	}
	conn.unanswered.n++
}

// occupied reports whether requests may be what keeps the server from giving a sign
// of life. Once it is stuck these are only those from before the first that was given
// up.
func (conn *connection) occupied() bool {
	heard := conn.pulse.Heard()
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.unanswered.n < maxUnanswered || conn.unanswered.heard != heard {
		return len(conn.pending) > 0 || conn.pulse.MayBeBusy()
	}
	for p := range conn.pending {
		if p.number <= conn.unanswered.begun {
			return true
		}
	}
	return false
}

// watchHealth pings a silent server until the connection ends, and gives it up if it does
// not answer. A server that is busy, with requests or by itself, is not given up: it
// answers when it is done. For what its requests were, see occupied.
func (conn *connection) watchHealth() {
	interval := conn.shared.opts.HealthInterval
	if interval < 0 || conn.wire.Info().Stateless {
		return
	}
	conn.working() // the handshake was
	misses := 0
	var look func()
	look = func() {
		due := interval
		switch silence := conn.pulse.Silence(); {
		case silence < interval:
			misses, due = 0, interval-silence
		case conn.working() || conn.occupied():
			misses = 0
		default:
			asked := time.Now()
			if conn.pinged() {
				misses = 0
				conn.working() // the answer is no other sign
			} else if misses++; misses >= maxMisses && !conn.occupied() {
				conn.giveUp(&UnresponsiveError{conn.pulse.Silence()})
				return
			}
			due = max(0, interval-time.Since(asked))
		}
		conn.after(due, look)
	}
	conn.after(interval, look)
}

// pinged reports whether the server gives a sign of life when it is asked for
// one.
func (conn *connection) pinged() bool {
	ctx, stop := context.WithTimeout(conn.ctx, min(healthPatience, conn.shared.opts.HealthInterval))
	defer stop()
	before := conn.pulse.Heard()
	_, err := conn.aside(ctx, conn.ping(), conn.meta)
	if err == nil || ctx.Err() == nil {
		conn.pulse.Beat() // a refusal is a sign of life; a connection that broke ends by itself
	}
	return conn.pulse.Heard() != before
}
