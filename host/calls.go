package host

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/meter"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
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
	// to log in, or the tool is not accepted or the launch not allowed. Nothing was sent.
	Refused uint64 `json:"refused"`
	// Cancelled: the caller gave up.
	Cancelled uint64 `json:"cancelled"`
}

// Ended returns the number of all calls.
func (c CallCounts) Ended() uint64 {
	return c.Done + c.ToolErrors + c.Failed + c.TimedOut + c.Unknown + c.Unavailable + c.Refused + c.Cancelled
}

// Judged returns the number of calls that tell whether the server works: all but Refused
// and Cancelled.
func (c CallCounts) Judged() uint64 { return c.Ended() - c.Refused - c.Cancelled }

func countsOf(n meter.Counts) CallCounts {
	return CallCounts{
		Done: n[meter.Done], ToolErrors: n[meter.ToolError], Failed: n[meter.Failed], TimedOut: n[meter.TimedOut],
		Unknown: n[meter.Unknown], Unavailable: n[meter.Unavailable], Refused: n[meter.Refused], Cancelled: n[meter.Cancelled],
	}
}

// A Latency is how long calls took, in seconds, by quantiles: P99 is a time within which 99 of 100
// ended, at most a quarter more than the shortest such time. Max is exact.
type Latency struct {
	Count      uint64  `json:"count"`      // calls that were measured
	P50Seconds float64 `json:"p50Seconds"` // the median
	P90Seconds float64 `json:"p90Seconds"` // 9 of 10 took no longer
	P99Seconds float64 `json:"p99Seconds"` // 99 of 100
	MaxSeconds float64 `json:"maxSeconds"` // of the slowest
}

// A callMeter counts the calls of one server, and keeps its last failure. The zero
// callMeter is ready for use.
type callMeter struct {
	meter.Meter
	last atomic.Pointer[Failure] // nil: there was none
}

// begin notes that a call begins; end, which is called once, that it has ended so.
func (m *callMeter) begin() (end func(res *mcp.CallToolResult, err error)) {
	count := m.Begin()
	return func(res *mcp.CallToolResult, err error) {
		outcome := callOutcome(res, err)
		if outcome.IsFailure() {
			m.fail(nil, err)
		}
		count(outcome)
	}
}

// fail notes a failure of the server of an entry; nil: of the one that runs.
func (m *callMeter) fail(entry *config.Server, err error) {
	if err != nil {
		m.last.Store(&Failure{At: time.Now(), Err: err, Entry: entry})
	}
}

// calls returns what was counted until now.
func (m *callMeter) calls() Calls {
	r := m.Read()
	c := Calls{InFlight: r.InFlight, Total: countsOf(r.Total), Recent: countsOf(r.Recent)}
	if n := c.Recent.Judged(); n > 0 {
		c.ErrorRate = new(float64(n-c.Recent.Done-c.Recent.ToolErrors) / float64(n))
	}
	if n := r.Measured(); n > 0 {
		c.Latency = &Latency{n, r.Quantile(0.5).Seconds(), r.Quantile(0.9).Seconds(), r.Quantile(0.99).Seconds(), r.Max().Seconds()}
	}
	return c
}

// callOutcome tells what became of a call by what it returned. A caller who gives up has
// no answer to complain of; one whose deadline passes has waited in vain, and that
// is counted as the server's.
func callOutcome(res *mcp.CallToolResult, err error) meter.Outcome {
	if err == nil {
		if res != nil && res.IsError {
			return meter.ToolError
		}
		return meter.Done
	}
	if _, ok := err.(*mcp.BusyError); ok { // often, and in a hurry
		return meter.Refused
	}
	class := failure.Of(err)
	if class == failure.Cancelled {
		return meter.Cancelled
	}
	if mcp.OutcomeOf(err) == mcp.NotSent {
		return unsentOutcome(err)
	}
	var answer *mcp.JSONRPCError
	switch {
	case errors.As(err, &answer) && answer.Code == jsonrpc.CodeInvalidParams:
		return meter.ToolError
	case mcp.OutcomeOf(err) == mcp.Answered:
		return meter.Failed
	case class == failure.Timeout:
		return meter.TimedOut
	}
	return meter.Unknown
}

// unsentOutcome tells why a call was not sent, or was refused unread.
func unsentOutcome(err error) meter.Outcome {
	class := failure.Of(err)
	switch {
	case class == failure.Busy, class == failure.LoginRequired, errors.As(err, new(*NoUserError)), denial(err) != nil,
		errors.As(err, new(*registry.QuarantinedError)), errors.As(err, new(*UnknownServerError)), errors.Is(err, errDisabled), errors.Is(err, ErrClosed):
		return meter.Refused
	case errors.As(err, new(*transport.StatusError)):
		return meter.Failed
	}
	return meter.Unavailable
}

// A Failure is a call or a connection that a server failed.
type Failure struct {
	// At is when it failed; zero if nothing ever has.
	At time.Time
	// Err is why; nil if nothing ever has failed. Its text may hold anything.
	Err error
	// Entry is the config entry of the server that failed, which may be one that was tried in
	// vain; nil if it is the one that the server runs as.
	Entry *config.Server
}
