package host

import (
	"encoding/json"
	"time"
)

// Calls are the calls of a server's tools in numbers, those of all users.
type Calls struct {
	// InFlight is how many are under way.
	InFlight int `json:"inFlight"`
	// Total counts those that ended since the host began to run the server.
	Total CallCounts `json:"total"`
	// Recent counts those of the last five minutes.
	Recent CallCounts `json:"recent"`
	// ErrorRate says which part of the recent ones the server failed, from 0 to 1: of
	// all but Refused and Cancelled, those that are Failed, TimedOut, Unknown or
	// Unavailable. A tool that reports an error does its work, and is not counted as
	// a failure. It is nil if there was none to judge by.
	ErrorRate *float64 `json:"errorRate,omitempty"`
	// Latency is how long the recent ones took that went to the server. It is nil if
	// none did.
	Latency *Latency `json:"latency,omitempty"`
}

// CallCounts are numbers of calls by what became of them. Each call is in one.
type CallCounts struct {
	// Done: the tool did what it was asked.
	Done uint64 `json:"done"`
	// ToolErrors: the tool reported an error, or the server refused the arguments.
	ToolErrors uint64 `json:"toolErrors"`
	// Failed: the server answered with an error of its own, or with what the protocol
	// does not allow.
	Failed uint64 `json:"failed"`
	// TimedOut: there was no answer in time, be it the client's limit or the caller's
	// deadline.
	TimedOut uint64 `json:"timedOut"`
	// Unknown: the connection was lost with the call under way. It may have run.
	Unknown uint64 `json:"unknown"`
	// Unavailable: there was no connection. Nothing was sent.
	Unavailable uint64 `json:"unavailable"`
	// Refused: the call was turned away here, since too many were waiting, the user has
	// to log in, or the tool or the server is not approved. Nothing was sent.
	Refused uint64 `json:"refused"`
	// Cancelled: the caller gave up.
	Cancelled uint64 `json:"cancelled"`
}

// Ended returns the number of all calls.
func (c CallCounts) Ended() uint64 {
	return c.Done + c.ToolErrors + c.Failed + c.TimedOut + c.Unknown + c.Unavailable + c.Refused + c.Cancelled
}

func (c *CallCounts) add(fate callFate, n uint64) { *c.of(fate) += n }

func (c *CallCounts) of(fate callFate) *uint64 {
	switch fate {
	case fateDone:
		return &c.Done
	case fateToolError:
		return &c.ToolErrors
	case fateFailed:
		return &c.Failed
	case fateTimedOut:
		return &c.TimedOut
	case fateUnavailable:
		return &c.Unavailable
	case fateRefused:
		return &c.Refused
	case fateCancelled:
		return &c.Cancelled
	}
	return &c.Unknown
}

func (c *CallCounts) join(other CallCounts) {
	for fate := range fateCancelled + 1 {
		c.add(fate, *other.of(fate))
	}
}

// errorRate returns the part that the server failed, if there is one to judge by.
func (c CallCounts) errorRate() (float64, bool) {
	if c.judged() == 0 {
		return 0, false
	}
	return float64(c.failures()) / float64(c.judged()), true
}

// failures returns the number of calls that the server failed, and judged that of
// those that tell whether it works.
func (c CallCounts) failures() uint64 { return c.Failed + c.TimedOut + c.Unknown + c.Unavailable }
func (c CallCounts) judged() uint64   { return c.failures() + c.Done + c.ToolErrors }

// A Latency is how long calls took, by quantiles: P99 is the time within which 99 of
// 100 ended. They are exact to 1 %, from a microsecond to 71 minutes; Max is exact.
// In JSON they are seconds.
type Latency struct {
	Count uint64        // calls that were measured
	P50   time.Duration // the median
	P90   time.Duration // 9 of 10 took no longer
	P99   time.Duration // 99 of 100
	P999  time.Duration // 999 of 1,000
	Max   time.Duration // of the slowest
}

// MarshalJSON writes the times in seconds.
func (l Latency) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Count uint64  `json:"count"`
		P50   float64 `json:"p50Seconds"`
		P90   float64 `json:"p90Seconds"`
		P99   float64 `json:"p99Seconds"`
		P999  float64 `json:"p999Seconds"`
		Max   float64 `json:"maxSeconds"`
	}{l.Count, l.P50.Seconds(), l.P90.Seconds(), l.P99.Seconds(), l.P999.Seconds(), l.Max.Seconds()})
}
