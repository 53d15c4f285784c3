package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/meter"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// What became of a call is told by the types of its error, however deep they are.
func TestCallOutcomes(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("tool %q: %w", "x", err) }
	rpc := func(code int64) error {
		return &mcp.ServerError{Server: "s", Err: &mcp.JSONRPCError{Code: code, Message: "no"}}
	}
	unavailable := func(err error) error { return &mcp.UnavailableError{Server: "s", Err: err} }
	for name, c := range map[string]struct {
		res  *mcp.CallToolResult
		err  error
		want meter.Outcome
	}{
		"done":                   {&mcp.CallToolResult{}, nil, meter.Done},
		"nothing at all":         {nil, nil, meter.Done},
		"the tool failed":        {&mcp.CallToolResult{IsError: true}, nil, meter.ToolError},
		"bad arguments":          {nil, rpc(jsonrpc.CodeInvalidParams), meter.ToolError},
		"internal error":         {nil, rpc(jsonrpc.CodeInternalError), meter.Failed},
		"invalid answer":         {nil, &mcp.ProtocolError{Server: "s"}, meter.Failed},
		"too large":              {nil, &mcp.LimitError{}, meter.Failed},
		"HTTP 400":               {nil, &transport.StatusError{Code: 400}, meter.Failed},
		"HTTP 502":               {nil, &transport.StatusError{Code: 502}, meter.Unknown},
		"the client's limit":     {nil, &mcp.OutcomeUnknownError{Err: &mcp.TimeoutError{Limit: "idle"}}, meter.TimedOut},
		"the caller's deadline":  {nil, &mcp.OutcomeUnknownError{Err: context.DeadlineExceeded}, meter.TimedOut},
		"the caller gave up":     {nil, &mcp.OutcomeUnknownError{Err: context.Canceled}, meter.Cancelled},
		"gave up waiting":        {nil, unavailable(context.Canceled), meter.Cancelled},
		"deadline while waiting": {nil, unavailable(context.DeadlineExceeded), meter.Unavailable},
		"connection lost":        {nil, &mcp.OutcomeUnknownError{Err: errors.New("broken pipe")}, meter.Unknown},
		"exit before it read":    {nil, mcp.WithOutcome(&transport.ExitError{Code: 1}, mcp.NotSent), meter.Unavailable},
		"no connection":          {nil, unavailable(errors.New("refused")), meter.Unavailable},
		"busy":                   {nil, &mcp.BusyError{}, meter.Refused},
		"login needed":           {nil, unavailable(&auth.LoginRequiredError{}), meter.Refused},
		"closed":                 {nil, mcp.WithOutcome(mcp.ErrClosed, mcp.NotSent), meter.Unavailable},
	} {
		for _, err := range []error{c.err, wrap(c.err)} {
			if c.err == nil {
				err = nil
			}
			assert.Equal(t, callOutcome(c.res, err), c.want, "%s: got outcome", name)
		}
	}
}

// The rate of errors is that of the calls that the server has seen or could not take.
func TestCallsOfAMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m callMeter
		assert.True(t, m.calls().ErrorRate == nil && m.calls().Latency == nil, "nothing of what is unused")
		record := func(took time.Duration, res *mcp.CallToolResult, err error) {
			end := m.begin()
			time.Sleep(took)
			end(res, err)
		}
		record(time.Millisecond, &mcp.CallToolResult{}, nil)
		record(time.Millisecond, &mcp.CallToolResult{IsError: true}, nil)
		record(time.Second, nil, &mcp.OutcomeUnknownError{Err: &mcp.TimeoutError{Limit: "idle"}})
		record(20*time.Second, nil, context.Canceled)
		record(0, nil, &mcp.UnavailableError{Err: errors.New("down")})
		record(0, nil, &mcp.BusyError{})
		c := m.calls()
		assert.Equal(t, c.Total, CallCounts{Done: 1, ToolErrors: 1, TimedOut: 1, Unavailable: 1, Refused: 1, Cancelled: 1}, "total")
		assert.Equal(t, *c.ErrorRate, 0.5, "error rate")
		assert.Equal(t, c.Latency.Count, 3, "calls of the latency")
		last := m.last.Load()
		assert.Contains(t, fmt.Sprint(last.Err), "down", "last failure")
		assert.True(t, last.At.Equal(time.Now()), "last failure at")
	})
}

func TestCallsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m callMeter
		end := m.begin()
		time.Sleep(time.Second)
		end(nil, nil)
		text := assert.Value(json.Marshal(m.calls()))(t)
		want := `{"inFlight":0,"total":{"done":1,"toolErrors":0,"failed":0,"timedOut":0,"unknown":0,"unavailable":0,"refused":0,"cancelled":0},` +
			`"recent":{"done":1,"toolErrors":0,"failed":0,"timedOut":0,"unknown":0,"unavailable":0,"refused":0,"cancelled":0},"errorRate":0,` +
			`"latency":{"count":1,"p50Seconds":1,"p90Seconds":1,"p99Seconds":1,"maxSeconds":1}}`
		assert.Equal(t, string(text), want)
	})
}
