// Package pulse notes the signs of life of something that may be busy.
package pulse

import (
	"sync/atomic"
	"time"
)

// A Pulse is when something last gave a sign of life, and until when it may be busy. It is safe
// for concurrent use. It keeps times by the clock.
type Pulse struct{ heard, busy atomic.Int64 } // both in nanoseconds

// Beat notes a sign of life.
func (p *Pulse) Beat() { p.BeatAt(time.Now()) }

// BeatAt is Beat, at a time that is known.
func (p *Pulse) BeatAt(at time.Time) { p.heard.Store(at.UnixNano()) }

// Abandoned notes that something was given up which may go on for so long at most.
func (p *Pulse) Abandoned(longest time.Duration) { p.busy.Store(time.Now().Add(longest).UnixNano()) }

// Heard identifies the last sign of life.
func (p *Pulse) Heard() int64 { return p.heard.Load() }

// Silence returns how long ago the last sign of life was.
func (p *Pulse) Silence() time.Duration { return time.Since(time.Unix(0, p.heard.Load())) }

// MayBeBusy reports whether something that was given up may still go on.
func (p *Pulse) MayBeBusy() bool { return time.Now().UnixNano() < p.busy.Load() }
