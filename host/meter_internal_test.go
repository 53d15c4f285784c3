package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// What became of a call is told by the types of its error, however deep they are.
func TestMeterFates(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("tool %q: %w", "x", err) }
	rpc := func(code int64) error {
		return &mcp.ServerError{Server: "s", Err: &mcp.JSONRPCError{Code: code, Message: "no"}}
	}
	unavailable := func(err error) error { return &mcp.UnavailableError{Server: "s", Err: err} }
	for name, c := range map[string]struct {
		res  *mcp.CallToolResult
		err  error
		want callFate
	}{
		"done":                   {&mcp.CallToolResult{}, nil, fateDone},
		"nothing at all":         {nil, nil, fateDone},
		"the tool failed":        {&mcp.CallToolResult{IsError: true}, nil, fateToolError},
		"bad arguments":          {nil, rpc(jsonrpc.CodeInvalidParams), fateToolError},
		"internal error":         {nil, rpc(jsonrpc.CodeInternalError), fateFailed},
		"invalid answer":         {nil, &mcp.ProtocolError{Server: "s"}, fateFailed},
		"too large":              {nil, &mcp.LimitError{}, fateFailed},
		"HTTP 400":               {nil, &transport.StatusError{Code: 400}, fateFailed},
		"HTTP 502":               {nil, &transport.StatusError{Code: 502}, fateUnknown},
		"the client's limit":     {nil, &mcp.OutcomeUnknownError{Err: &mcp.TimeoutError{Limit: "idle"}}, fateTimedOut},
		"the caller's deadline":  {nil, &mcp.OutcomeUnknownError{Err: context.DeadlineExceeded}, fateTimedOut},
		"the caller gave up":     {nil, &mcp.OutcomeUnknownError{Err: context.Canceled}, fateCancelled},
		"gave up waiting":        {nil, unavailable(context.Canceled), fateCancelled},
		"deadline while waiting": {nil, unavailable(context.DeadlineExceeded), fateUnavailable},
		"connection lost":        {nil, &mcp.OutcomeUnknownError{Err: errors.New("broken pipe")}, fateUnknown},
		"exit before it read":    {nil, mcp.WithOutcome(&transport.ExitError{Code: 1}, mcp.NotSent), fateUnavailable},
		"no connection":          {nil, unavailable(errors.New("refused")), fateUnavailable},
		"busy":                   {nil, &mcp.BusyError{}, fateRefused},
		"login needed":           {nil, unavailable(&auth.LoginRequiredError{}), fateRefused},
		"closed":                 {nil, mcp.WithOutcome(mcp.ErrClosed, mcp.NotSent), fateUnavailable},
	} {
		for _, err := range []error{c.err, wrap(c.err)} {
			if c.err == nil {
				err = nil
			}
			if got := fateOf(c.res, err); got != c.want {
				t.Errorf("%s: fate %d, want %d", name, got, c.want)
			}
		}
	}
}

// Each call is counted once, and what the caller gave up or nobody sent spoils
// neither the rate of errors nor the times.
func TestMeterCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m meter
		if c := m.calls(); c.ErrorRate != nil || c.Latency != nil || c.Total.Ended() != 0 {
			t.Errorf("an unused meter: %+v", c)
		}
		record := func(took time.Duration, res *mcp.CallToolResult, err error) {
			end := m.begin()
			if n := m.calls().InFlight; n != 1 {
				t.Errorf("%d in flight", n)
			}
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
		want := CallCounts{Done: 1, ToolErrors: 1, TimedOut: 1, Unavailable: 1, Refused: 1, Cancelled: 1}
		if c.Total != want || c.Recent != want || c.InFlight != 0 || c.Total.Ended() != 6 {
			t.Errorf("%+v", c)
		}
		if c.ErrorRate == nil || *c.ErrorRate != 0.5 {
			t.Errorf("error rate %v", c.ErrorRate)
		}
		if l := c.Latency; l == nil || l.Count != 3 || l.Max != time.Second || l.P50 > 2*time.Millisecond {
			t.Errorf("latency %+v", c.Latency)
		}
		at, _, err := m.lastFailure()
		if err == nil || !strings.Contains(err.Error(), "down") || !at.Equal(time.Now()) {
			t.Errorf("last failure %v at %v", err, at)
		}
	})
}

// What happened more than five minutes ago is not recent, even if nothing has
// happened since, and however often the slots were used.
func TestMeterWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m meter
		for minute := range 60 {
			m.begin()(nil, nil)
			want := uint64(min(minute+1, 5))
			if got := m.calls().Recent.Done; got != want {
				t.Fatalf("minute %d: %d recent calls, want %d", minute, got, want)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(callWindow - time.Minute - meterSlot)
		if got := m.calls().Recent.Done; got != 1 {
			t.Errorf("%d recent calls shortly before they are old", got)
		}
		time.Sleep(meterSlot)
		c := m.calls()
		if c.Recent.Done != 0 || c.Latency != nil || c.ErrorRate != nil || c.Total.Done != 60 {
			t.Errorf("afterwards: %+v", c)
		}
		time.Sleep(100 * 24 * time.Hour)
		if got := m.calls().Recent; got != (CallCounts{}) {
			t.Errorf("a hundred days later: %+v", got)
		}
	})
}

// The quantiles are those of the sorted durations, to one in a hundred.
func TestHistogramQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var h, other histogram
		var all []time.Duration
		for i := range 1 + random.IntN(5_000) {
			d := time.Duration(float64(time.Microsecond) * float64(uint64(1)<<random.IntN(31)) * (1 + random.Float64()))
			all = append(all, d)
			if i%2 == 0 {
				h.add(d)
			} else {
				other.add(d)
			}
		}
		h.join(&other)
		slices.Sort(all)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
			rank := min(max(int(q*float64(len(all))+0.999999), 1), len(all))
			want, got := all[rank-1], h.quantile(q)
			if diff := (got - want).Abs(); diff > want/100+time.Microsecond {
				t.Errorf("of %d, quantile %v is %v, want %v", len(all), q, got, want)
			}
		}
		if h.max != all[len(all)-1] || h.count != uint64(len(all)) {
			t.Errorf("max %v, count %d", h.max, h.count)
		}
	}
}

// Every duration has a place, and its place holds it.
func TestHistogramEdges(t *testing.T) {
	us := time.Microsecond
	for _, d := range []time.Duration{-1, 0, 1, us - 1, us, 63 * us, 64 * us, 127 * us, 128 * us, 129 * us, time.Hour, 1<<32*us - 1, 1 << 32 * us, 1<<63 - 1} {
		var h histogram
		h.add(d)
		row, column := bucketOf(d)
		middle := bucketMiddle(row, column)
		if inRange := max(d, 0) < 1<<32*us; inRange && (middle-max(d, 0)).Abs() > max(d/100, us/2) {
			t.Errorf("%v is counted as %v", d, middle)
		}
		if h.quantile(0.5) > max(d, 0) {
			t.Errorf("of %v alone the median is %v", d, h.quantile(0.5))
		}
	}
	previous := time.Duration(-1)
	for row := range histogramRows {
		for column := range histogramColumns {
			middle := bucketMiddle(row, column)
			if middle <= previous {
				t.Fatalf("bucket %d, %d: %v after %v", row, column, middle, previous)
			}
			if r, c := bucketOf(middle); r != row || c != column {
				t.Fatalf("the middle of bucket %d, %d is in %d, %d", row, column, r, c)
			}
			previous = middle
		}
	}
}

// Nothing is lost when many count at once.
func TestMeterConcurrently(t *testing.T) {
	var m meter
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range 500 {
				end := m.begin()
				if i%50 == 0 {
					m.calls()
				}
				end(&mcp.CallToolResult{IsError: i%2 == 0}, nil)
			}
		})
	}
	wg.Wait()
	c := m.calls()
	if c.Total.Done != 4_000 || c.Total.ToolErrors != 4_000 || c.InFlight != 0 || c.Recent != c.Total || c.Latency.Count != 8_000 {
		t.Errorf("%+v", c)
	}
}

// A meter takes no more memory for a million calls than for a few.
func TestMeterAllocations(t *testing.T) {
	var m meter
	res := &mcp.CallToolResult{}
	for d := time.Microsecond; d < 2*time.Hour; d *= 2 {
		m.ended(time.Now(), d, fateDone, nil)
	}
	if n := testing.AllocsPerRun(1_000, func() { m.begin()(res, nil) }); n > 1 {
		t.Errorf("%v allocations for a call", n)
	}
}

func TestLatencyJSON(t *testing.T) {
	var m meter
	m.ended(time.Now(), time.Second, fateDone, nil)
	text, err := json.Marshal(m.calls())
	want := `{"inFlight":0,"total":{"done":1,"toolErrors":0,"failed":0,"timedOut":0,"unknown":0,"unavailable":0,"refused":0,"cancelled":0},` +
		`"recent":{"done":1,"toolErrors":0,"failed":0,"timedOut":0,"unknown":0,"unavailable":0,"refused":0,"cancelled":0},"errorRate":0,` +
		`"latency":{"count":1,"p50Seconds":1,"p90Seconds":1,"p99Seconds":1,"p999Seconds":1,"maxSeconds":1}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func BenchmarkMeter(b *testing.B) {
	var m meter
	res := &mcp.CallToolResult{}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.begin()(res, nil)
		}
	})
	b.Run("many", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.begin()(res, nil)
			}
		})
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.calls()
		}
	})
}
