package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxCacheBytes bounds what a client keeps.
	maxCacheBytes = 4 << 20
	// entryBytes is what an answer in the cache takes besides its bytes.
	entryBytes = 256
)

// A cache keeps resources that were read, by their URIs, for as long as the server allows,
// which only those of revision 2026-07-28 do. They are for this client alone, since a client
// is one identity, and are forgotten with the connection. A notification of a change removes
// them at once; when there is no more room all are dropped.
type cache struct {
	mu      sync.Mutex // guards the following
	size    int64
	answers map[string]cached
	changes int // times that something was forgotten
}

// A cached is one answer.
type cached struct {
	freshness
	result json.RawMessage
}

// look returns a copy of the answer if it is kept and fresh, or nil, and what keep must be
// told if the resource is read now.
func (c *cache) look(uri string) (kept json.RawMessage, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.answers[uri]; found.fresh() {
		kept = bytes.Clone(found.result) // answers never change
	}
	return kept, c.changes
}

// keep puts an answer into the cache, as far as its server allows, in the place of an earlier
// one. If a change was announced since look the answer may be old.
func (c *cache) keep(uri string, changes int, result json.RawMessage, fresh freshness) {
	size := int64(len(result)+len(uri)) + entryBytes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	c.dropLocked(uri)
	if fresh.ttl <= 0 || size > maxCacheBytes {
		return
	}
	if c.answers == nil || c.size+size > maxCacheBytes {
		c.answers, c.size = make(map[string]cached), 0
	}
	c.answers[uri] = cached{fresh, bytes.Clone(result)}
	c.size += size
}

func (c *cache) dropLocked(uri string) {
	if old, ok := c.answers[uri]; ok {
		delete(c.answers, uri)
		c.size -= int64(len(old.result)+len(uri)) + entryBytes
	}
}

// forget drops the resources that match, and sees to it that none that is under way is kept.
func (c *cache) forget(match func(uri string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for uri := range c.answers {
		if match(uri) {
			c.dropLocked(uri)
		}
	}
}

func everything(string) bool { return true }

// forgetResource makes a resource be read again, and those that it is a part of.
func (c *Client) forgetResource(changed string) {
	c.cache.forget(func(uri string) bool { return partOf(changed, uri) })
}

// partOf reports whether a resource is another one, or a part of it.
func partOf(uri, whole string) bool {
	return uri == whole || strings.HasPrefix(uri, strings.TrimSuffix(whole, "/")+"/")
}

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
	value := memberOf(result, "ttlMs")
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
