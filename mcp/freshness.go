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
	public   bool          // by everybody
}

// freshnessOf returns what a server says about an answer that just came. A hint
// that makes no sense is none.
func freshnessOf(result json.RawMessage) freshness {
	f := freshness{received: time.Now()}
	for key, value := range jsonscan.Fields(result) {
		switch string(key) {
		case "ttlMs":
			ms, err := strconv.ParseFloat(string(value), 64)
			if f.hinted = value[0] == '-' || value[0] >= '0' && value[0] <= '9'; f.hinted {
				const longest = float64(maxTTL / time.Millisecond)
				if err != nil {
					ms = longest // too large for a number, or it would not be JSON
				}
				f.ttl = time.Duration(max(0, min(ms, longest)) * float64(time.Millisecond))
			}
		case "cacheScope":
			scope, _ := jsonscan.Text(value)
			f.public = string(scope) == "public"
		}
	}
	return f
}

// until returns when the answer is stale.
func (f freshness) until() time.Time { return f.received.Add(f.ttl) }

// fresh reports whether the answer may be used still. The clock may have been set
// and the machine may have slept: whichever of its clocks says more counts.
func (f freshness) fresh() bool {
	return time.Since(f.received) < f.ttl && time.Now().Round(0).Before(f.until().Round(0))
}
