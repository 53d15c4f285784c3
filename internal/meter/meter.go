// Package meter counts calls by their outcome, and measures how long they take.
package meter

import (
	"sync"
	"sync/atomic"
	"time"
)

// An Outcome is what became of a call.
type Outcome int

// The outcomes. The server has seen the calls of the first five, and is at fault for
// those from Failed to Unavailable.
const (
	Done        Outcome = iota // the tool did what it was asked
	ToolError                  // the tool reported an error, or the arguments were refused
	Failed                     // the server answered with an error, or not as the protocol wants
	TimedOut                   // there was no answer in time
	Unknown                    // the connection was lost with the call under way
	Unavailable                // there was no connection; nothing was sent
	Refused                    // turned away on this side; nothing was sent
	Cancelled                  // given up by the caller

	// Outcomes is the number of outcomes.
	Outcomes
)

// IsFailure reports whether the server failed the call.
func (o Outcome) IsFailure() bool { return o >= Failed && o <= Unavailable }

// isMeasured reports whether the time of the call is the server's. A call that was turned
// away before took no time, and would make a failing server look fast.
func (o Outcome) isMeasured() bool { return o <= Unknown }

// Counts are numbers of calls by outcome.
type Counts [Outcomes]uint64

const (
	// Window is how far back [Reading].Recent looks. It is kept in slots, of which the
	// oldest is dropped whole: Recent covers the last four to five minutes. That is short
	// enough to tell of now, and long enough for an agent that makes a call now and then.
	Window = slots * slot
	slots  = 5
	slot   = time.Minute
)

// A Meter counts the calls of one server. The zero Meter is ready for use. Its methods
// are safe for concurrent use. It takes less than 3 KiB, whatever is called.
type Meter struct {
	inFlight atomic.Int64

	mu    sync.Mutex // guards the following
	total Counts
	zero  time.Time    // from which slots are numbered; set by the first call
	parts *[slots]part // nil before the first call
}

// A part is what happened within one slot of time.
type part struct {
	number int64 // of the slot, from 1; 0: never used
	counts Counts
	times  histogram
}

// Begin notes that a call begins. The caller calls end once, when the call has ended.
func (m *Meter) Begin() (end func(Outcome)) {
	m.inFlight.Add(1)
	begun := time.Now()
	return func(o Outcome) {
		now := time.Now()
		m.ended(now, now.Sub(begun), o)
		m.inFlight.Add(-1)
	}
}

// Count counts a call that had no time to begin.
func (m *Meter) Count(o Outcome) { m.ended(time.Now(), 0, o) }

func (m *Meter) ended(now time.Time, took time.Duration, o Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts == nil {
		m.zero, m.parts = now, new([slots]part)
	}
	number := m.numberLocked(now)
	p := &m.parts[number%slots]
	if p.number != number {
		*p = part{number: number} // it is of an earlier round
	}
	m.total[o]++
	p.counts[o]++
	if o.isMeasured() {
		p.times.add(took)
	}
}

// numberLocked returns the number of the slot of a moment. It needs m.mu.
func (m *Meter) numberLocked(now time.Time) int64 { return int64(now.Sub(m.zero)/slot) + 1 }

// A Reading is what a meter has counted until one moment.
type Reading struct {
	InFlight int    // calls under way
	Total    Counts // all calls that have ended
	Recent   Counts // those within the Window
	times    histogram
}

// Read returns what was counted until now.
func (m *Meter) Read() Reading {
	r := Reading{InFlight: int(m.inFlight.Load())}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Total = m.total
	if m.parts == nil {
		return r
	}
	oldest := m.numberLocked(time.Now()) - slots + 1
	for i := range m.parts {
		p := &m.parts[i]
		if p.number == 0 || p.number < oldest {
			continue
		}
		for o, n := range p.counts {
			r.Recent[o] += n
		}
		r.times.join(&p.times)
	}
	return r
}

// Measured returns the number of recent calls whose time was measured.
func (r *Reading) Measured() uint64 { return r.times.count }

// Max returns the time of the slowest measured call.
func (r *Reading) Max() time.Duration { return r.times.max }

// Quantile returns a time that the part q of the measured calls, from 0 to 1, did not
// exceed: not less than the shortest such time, and at most a quarter or a microsecond
// more. It is 0 if none was measured.
func (r *Reading) Quantile(q float64) time.Duration { return r.times.quantile(q) }
