package mcp

import (
	"bytes"
	linked "container/list"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const (
	// defaultCacheBytes bounds a client's own cache.
	defaultCacheBytes = 4 << 20
	// entryBytes is what an answer in the cache takes besides its bytes.
	entryBytes = 256
	// maxDepth is how many folders up from a resource that has changed are
	// looked for in the cache, before all resources are forgotten instead.
	maxDepth = 64
)

// A Cache keeps answers for as long as their servers allow, which only those of
// revision 2026-07-28 do: pages of the lists of tools, prompts, resources and resource
// templates, and resources that were read. A notification of a change removes answers
// at once, and when there is no more room those go that were not used for the longest
// time.
//
// A Cache can be shared between clients. An answer that its server calls public
// is then shared between the clients of the same name, which therefore must be
// of the same server. All other answers are for the client alone that asked: one
// client is one identity. They are forgotten when it makes another connection
// and when it is closed.
//
// A Cache is safe for concurrent use and owns no goroutine. The zero Cache keeps
// nothing.
type Cache struct {
	max int64

	mu      sync.Mutex // guards the following
	size    int64
	shelves map[shelfKey]shelf
	used    *linked.List // of *entry, the one used last in front
	fetches map[*fetch]struct{}
}

// A shelfKey says to whom answers may be given.
type shelfKey struct {
	owner  *Client // nil: all clients of that name
	server string
}

// A shelf holds answers by what they are about, and then by their parameters.
type shelf map[topic]map[string]*entry

// A topic is what a notification of a server can say has changed.
type topic struct {
	method string
	uri    string // of a resource, with resources/read
}

// An entry is one answer.
type entry struct {
	freshness
	shelf   shelfKey
	topic   topic
	params  string
	result  json.RawMessage
	element *linked.Element
}

func (e *entry) size() int64 {
	return int64(len(e.result)+len(e.params)+len(e.topic.uri)) + entryBytes
}

// A fetch is a request under way whose answer may be kept.
type fetch struct {
	client   *Client
	topic    topic
	params   string
	outdated bool // what it will be answered is no news any more; guarded by the lock of the cache
}

// NewCache returns a cache that holds at most the given number of bytes, counting
// some for each answer besides its own. With none or less it keeps nothing.
func NewCache(bytes int64) *Cache {
	return &Cache{
		max:     bytes,
		shelves: make(map[shelfKey]shelf),
		used:    linked.New(),
		fetches: make(map[*fetch]struct{}),
	}
}

// fetch returns what is needed to look for the answer to a request, and to keep it.
func (c *Client) fetch(r *request) *fetch {
	f := &fetch{client: c, topic: topic{method: r.method}}
	if r.method == methodReadResource {
		f.topic.uri = string(r.params[0].value)
	}
	f.params = string(appendMembers([]byte{'{'}, r.params[:]...))
	return f
}

// shelves returns where the answer may be, the client's own first.
func (f *fetch) shelves() [2]shelfKey {
	return [2]shelfKey{{f.client, f.client.name}, {nil, f.client.name}}
}

// kept returns a copy of the answer if it is in the cache and fresh, or nil.
func (f *fetch) kept() (json.RawMessage, freshness) {
	c := f.client.opts.Cache
	c.mu.Lock()
	var found *entry
	for _, key := range f.shelves() {
		e := c.shelves[key][f.topic][f.params]
		switch {
		case e == nil:
		case !e.fresh():
			c.dropLocked(e)
		default:
			found = e
		}
		if found != nil {
			c.used.MoveToFront(found.element)
			break
		}
	}
	c.mu.Unlock()
	if found == nil {
		return nil, freshness{}
	}
	return bytes.Clone(found.result), found.freshness // entries never change
}

// begin notes that the server is asked. End must follow.
func (f *fetch) begin() {
	c := f.client.opts.Cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.max > 0 {
		c.fetches[f] = struct{}{}
	}
}

func (f *fetch) end() {
	c := f.client.opts.Cache
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.fetches, f)
}

// keep puts an answer of revision 2026-07-28 into the cache, as far as its server
// allows, in the place of earlier ones.
func (f *fetch) keep(result json.RawMessage, fresh freshness) {
	c := f.client.opts.Cache
	e := &entry{freshness: fresh, shelf: f.shelves()[0], topic: f.topic, params: f.params}
	if fresh.public {
		e.shelf = f.shelves()[1]
	}
	keep := fresh.ttl > 0 && e.size()+int64(len(result)) <= c.max
	if keep {
		e.result = bytes.Clone(result)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.outdated || f.client.closing.Err() != nil {
		return
	}
	for _, key := range f.shelves() {
		if old := c.shelves[key][f.topic][f.params]; old != nil {
			c.dropLocked(old)
		}
	}
	if keep {
		c.addLocked(e)
	}
}

func (c *Cache) addLocked(e *entry) {
	for c.size+e.size() > c.max {
		c.dropLocked(c.used.Back().Value.(*entry))
	}
	s := c.shelves[e.shelf]
	if s == nil {
		s = make(shelf)
		c.shelves[e.shelf] = s
	}
	if s[e.topic] == nil {
		s[e.topic] = make(map[string]*entry)
	}
	s[e.topic][e.params] = e
	e.element = c.used.PushFront(e)
	c.size += e.size()
}

func (c *Cache) dropLocked(e *entry) {
	c.used.Remove(e.element)
	c.size -= e.size()
	s := c.shelves[e.shelf]
	delete(s[e.topic], e.params)
	if len(s[e.topic]) == 0 {
		delete(s, e.topic)
	}
	if len(s) == 0 {
		delete(c.shelves, e.shelf)
	}
}

// forget drops what a client knows of a topic, its own answers and those that it
// shares, and sees to it that none that is under way is kept.
func (c *Cache) forget(of *Client, topics ...topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range topics {
		for _, key := range []shelfKey{{of, of.name}, {nil, of.name}} {
			for _, e := range c.shelves[key][t] {
				c.dropLocked(e)
			}
		}
	}
	for f := range c.fetches {
		for _, t := range topics {
			if f.client.name == of.name && f.topic == t {
				f.outdated = true
			}
		}
	}
}

// forgetAll does the same for all topics that match, or for all if match is nil.
func (c *Cache) forgetAll(of *Client, match func(topic) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range []shelfKey{{of, of.name}, {nil, of.name}} {
		for t, entries := range c.shelves[key] {
			if match != nil && !match(t) {
				continue
			}
			for _, e := range entries {
				c.dropLocked(e)
			}
		}
	}
	for f := range c.fetches {
		if f.client.name == of.name && (match == nil || match(f.topic)) {
			f.outdated = true
		}
	}
}

// leave drops what belongs to a client that was closed.
func (c *Cache) leave(of *Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entries := range c.shelves[shelfKey{of, of.name}] {
		for _, e := range entries {
			c.dropLocked(e)
		}
	}
}

// forgetLists makes lists be read again.
func (c *Client) forgetLists(kinds listKinds) {
	var topics []topic
	add := func(kind listKinds, methods ...string) {
		for _, method := range methods {
			if kinds&kind != 0 {
				topics = append(topics, topic{method: method})
			}
		}
	}
	add(listTools, methodListTools)
	add(listPrompts, methodListPrompts)
	add(listResources, methodListResources, methodListTemplates)
	c.opts.Cache.forget(c, topics...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if kinds&listTools != 0 && c.current != nil && c.current.modern() {
		c.tools.version = 0 // ToolsVersion may take a moment
	}
}

// forgetResource makes a resource be read again, and those that it is a part of.
func (c *Client) forgetResource(uri string) {
	if len(uri) > maxUpdateURI || strings.Count(uri, "/") > maxDepth {
		c.opts.Cache.forgetAll(c, func(t topic) bool { return t.method == methodReadResource })
		return
	}
	read := func(uri string) topic { return topic{methodReadResource, string(appendQuoted(nil, uri))} }
	topics := []topic{read(uri)}
	for i := range uri {
		if uri[i] == '/' {
			topics = append(topics, read(uri[:i]), read(uri[:i+1]))
		}
	}
	c.opts.Cache.forget(c, topics...)
}

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
