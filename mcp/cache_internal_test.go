// Tests of cache.go: its bounds.

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// nowhere is a transport that never connects.
type nowhere struct{}

func (nowhere) Connect(context.Context) (Conn, error) { return nil, errors.New("nowhere") }

// keepFor puts an answer of the given size into the client's cache.
func keepFor(c *Client, uri string, size int, fresh freshness) {
	f := c.fetch(&request{method: methodReadResource, params: [numParams]member{{"uri", appendQuoted(nil, uri)}}})
	f.begin()
	defer f.end()
	f.keep(make(json.RawMessage, size), fresh)
}

func (c *Cache) check(t *testing.T) (entries int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(0)
	for _, s := range c.shelves {
		for _, answers := range s {
			for _, e := range answers {
				entries++
				size += e.size()
			}
		}
	}
	assert.Equal(t, [...]any{size, entries, len(c.fetches)}, [...]any{c.size, c.used.Len(), 0})
	if size > c.max {
		t.Errorf("%d entries of %d bytes, noted %d of %d, at most %d; %d under way", entries, size, c.used.Len(), c.size, c.max, len(c.fetches))
	}
	return entries
}

// A client that was closed leaves nothing in a cache that it shared but what is
// for all, and puts nothing in any more.
func TestCacheAfterClose(t *testing.T) {
	cache := NewCache(1 << 20)
	c := NewClient("a", nowhere{}, &ClientOptions{Cache: cache})
	now := freshness{received: time.Now(), ttl: time.Hour}
	keepFor(c, "a:1", 10, now)
	keepFor(c, "a:2", 10, freshness{received: now.received, ttl: now.ttl, public: true})
	assert.Equal(t, cache.check(t), 2)
	_ = c.Close()
	keepFor(c, "a:3", 10, now)
	assert.Equal(t, cache.check(t), 1, "entries after Close")
}

// Whatever many clients do at one time, the cache stays within its bounds and
// knows its size.
func TestCacheTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := NewCache(20_000)
		var work sync.WaitGroup
		for i := range 8 {
			c := NewClient(fmt.Sprint("server ", i%3), nowhere{}, &ClientOptions{Cache: cache})
			work.Go(func() {
				for n := range assert.Cases(100, 500) {
					uri := fmt.Sprintf("a:%d/%d", i%2, n%37)
					keepFor(c, uri, n%3000, freshness{received: time.Now(), ttl: time.Duration(n%5) * time.Second, public: n%3 == 0})
					c.fetch(&request{method: methodReadResource, params: [numParams]member{{"uri", appendQuoted(nil, uri)}}}).kept()
					switch {
					case n%11 == 0:
						c.forgetResource(uri)
					case n%97 == 0:
						c.forgetLists(listTools | listPrompts | listResources)
					case n%250 == 0:
						cache.forgetAll(c, nil)
					}
				}
				_ = c.Close()
			})
		}
		work.Wait()
		cache.check(t)
	})
}

// A URI with very many parts costs no more than one look at what there is.
func TestCacheForgetsDeep(t *testing.T) {
	c := NewClient("a", nowhere{}, nil)
	defer c.Close()
	keepFor(c, "a:1", 10, freshness{received: time.Now(), ttl: time.Hour})
	deep := make([]byte, 1<<20)
	for i := range deep {
		deep[i] = '/'
	}
	c.forgetResource(string(deep))
	assert.Equal(t, c.opts.Cache.check(t), 0, "entries")
}
