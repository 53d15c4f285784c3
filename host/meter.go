package host

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// callWindow is how far back [Calls].Recent looks. It is kept in slots, of which
	// the oldest is dropped whole: what is seen is the last four and a half to five
	// minutes. That is short enough to tell of now, and long enough for an agent that
	// makes a call now and then.
	callWindow = 5 * time.Minute
	meterSlots = 10
	meterSlot  = callWindow / meterSlots
)

// A meter counts the calls of one server, and measures how long they take. The zero
// meter is ready for use, by many at once. What it holds is bounded, whatever is
// called: about 15 KiB for a server that is used, and never more than 80.
type meter struct {
	inFlight atomic.Int64

	mu     sync.Mutex // guards the following; nothing slow is done with it held
	total  CallCounts
	zero   time.Time // from which slots are numbered; set by the first call
	slots  [meterSlots]meterPart
	failed time.Time      // when the last failure of the server's own ended
	reason error          // of that
	entry  *config.Server // it is about; nil: that which runs
}

// A meterPart is what happened within one slot of time.
type meterPart struct {
	number int64 // of the slot, from 1; 0: never used
	counts CallCounts
	spans  histogram
}

// begin notes that a call begins; end, which is called once, that it has ended so.
func (m *meter) begin() (end func(res *mcp.CallToolResult, err error)) {
	m.inFlight.Add(1)
	begun := time.Now()
	return func(res *mcp.CallToolResult, err error) {
		now := time.Now()
		m.ended(now, now.Sub(begun), fateOf(res, err), err)
		m.inFlight.Add(-1)
	}
}

// ended counts a call. Only what went to the server is measured: what was turned
// away before took no time, and would make a failing server look fast.
func (m *meter) ended(now time.Time, took time.Duration, fate callFate, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	part := m.partLocked(now)
	m.total.add(fate, 1)
	part.counts.add(fate, 1)
	if fate.measured() {
		part.spans.add(took)
	}
	if fate.failure() {
		m.failed, m.reason, m.entry = now, err, nil
	}
}

// fault notes an error of the connection of an entry's server, which is no call.
func (m *meter) fault(entry *config.Server, err error) {
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed, m.reason, m.entry = time.Now(), err, entry
}

// lastFailure returns the last failure of the server's own, when it was, and the entry
// that it is about; nil if that is the one that runs.
func (m *meter) lastFailure() (time.Time, *config.Server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed, m.entry, m.reason
}

// partLocked returns the slot of a moment, empty if it is that of an earlier round.
func (m *meter) partLocked(now time.Time) *meterPart {
	number := m.numberLocked(now)
	part := &m.slots[number%meterSlots]
	if part.number != number {
		part.number, part.counts = number, CallCounts{}
		part.spans.clear()
	}
	return part
}

func (m *meter) numberLocked(now time.Time) int64 {
	if m.zero.IsZero() {
		m.zero = now
	}
	return int64(now.Sub(m.zero)/meterSlot) + 1
}

// calls returns what was counted until now.
func (m *meter) calls() Calls {
	var spans histogram
	c := Calls{InFlight: int(m.inFlight.Load())}
	m.mu.Lock()
	c.Total = m.total
	if !m.zero.IsZero() {
		oldest := m.numberLocked(time.Now()) - meterSlots + 1
		for i := range m.slots {
			part := &m.slots[i]
			if part.number > 0 && part.number >= oldest {
				c.Recent.join(part.counts)
				spans.join(&part.spans)
			}
		}
	}
	m.mu.Unlock()
	if rate, ok := c.Recent.errorRate(); ok {
		c.ErrorRate = &rate
	}
	if spans.count > 0 {
		c.Latency = spans.latency()
	}
	return c
}
