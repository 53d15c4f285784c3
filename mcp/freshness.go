package mcp

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxTTL bounds how long an answer is used, whatever the server says.
const maxTTL = 24 * time.Hour

// A freshness says how long an answer may be used.
type freshness struct {
	received time.Time
	ttl      time.Duration // 0: it is stale at once
	hinted   bool          // the server said so, and not the lack of its word
}

// freshnessOf returns what a server says about an answer that just came. A hint
// that makes no sense is none.
func freshnessOf(result json.RawMessage) freshness {
	f := freshness{received: time.Now()}
	value := jsonscan.Member(result, "ttlMs")
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return f
	}
	f.hinted = true
	const longest = float64(maxTTL / time.Millisecond)
	ms, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		ms = longest // too large for a number, or it would not be JSON
	}
	f.ttl = time.Duration(max(0, min(ms, longest)) * float64(time.Millisecond))
	return f
}

// until returns when the answer is stale.
func (f freshness) until() time.Time { return f.received.Add(f.ttl) }

// fresh reports whether the answer may be used still. The clock may have been set
// and the machine may have slept: whichever of its clocks says more counts.
func (f freshness) fresh() bool {
	return time.Since(f.received) < f.ttl && time.Now().Round(0).Before(f.until().Round(0))
}
