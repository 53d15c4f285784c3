package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// ResourceUpdates yields a URI whenever the resource may have changed: first when the
// server has accepted the subscription, so that a read from then on misses no change,
// and again after each notification and each new connection. The URI is uri itself or,
// as the server chooses, that of a part of it. A consumer that is slower than the
// changes sees each URI once.
//
// It ends when ctx ends or the client is closed. If the server sends no notifications
// of changes the last yield is an error, which is [errors.ErrUnsupported] if it does
// not support them.
func (c *Client) ResourceUpdates(ctx context.Context, uri string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if c.transport == nil {
			yield("", errZero)
			return
		}
		w := c.topics.join(uri) // before there is a connection: the next ones know of it
		defer c.topics.leave(w)
		conn, err := c.acquire(ctx, nil)
		if err == nil && !conn.announcesUpdates() {
			err = c.announcesNothing()
		}
		if err != nil {
			yield("", err)
			return
		}
		for {
			select {
			case <-w.signal:
			case <-ctx.Done():
				return
			case <-c.closing.Done():
				return
			}
			uris, err := c.topics.take(w)
			for _, uri := range uris {
				if !yield(uri, nil) {
					return
				}
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

const (
	// maxUpdates bounds the URIs that wait for a slow consumer, and
	// maxUpdateURI each of them in bytes. The consumer's own stands for what
	// is more.
	maxUpdates   = 256
	maxUpdateURI = 8 << 10
)

// topics are the resources whose changes a person wants to know of.
type topics struct {
	changed chan struct{} // capacity 1: there are others

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	agreed   map[string]bool // those that the server announces changes of
}

// A watcher is one ResourceUpdates.
type watcher struct {
	uri     string
	signal  chan struct{}       // capacity 1
	updated map[string]struct{} // guarded by the lock of topics, as the next
	err     error
}

func newTopics() topics {
	return topics{changed: make(chan struct{}, 1), watchers: make(map[*watcher]struct{}), agreed: make(map[string]bool)}
}

func (s *topics) join(uri string) *watcher {
	w := &watcher{uri: uri, signal: make(chan struct{}, 1), updated: make(map[string]struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = struct{}{}
	if s.agreed[uri] {
		w.updated[uri] = struct{}{}
		poke(w.signal)
	}
	poke(s.changed)
	return w
}

func (s *topics) leave(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
	poke(s.changed)
}

// take returns what a watcher has not been told yet.
func (s *topics) take(w *watcher) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := slices.Sorted(maps.Keys(w.updated))
	clear(w.updated)
	return uris, w.err
}

// uris returns the resources, sorted.
func (s *topics) uris() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := make(map[string]struct{})
	for w := range s.watchers {
		if w.err == nil {
			set[w.uri] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// tell wakes the watchers of a resource, and of what it is a part of.
func (s *topics) tell(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if !partOf(uri, w.uri) {
			continue
		}
		news := uri
		if len(w.updated) >= maxUpdates || len(uri) > maxUpdateURI {
			clear(w.updated)
			news = w.uri
		}
		w.updated[news] = struct{}{}
		poke(w.signal)
	}
}

// agree notes that the server announces changes of a resource from now on.
func (s *topics) agree(uri string) {
	s.mu.Lock()
	s.agreed[uri] = true
	s.mu.Unlock()
	s.tell(uri)
}

// disagree notes that it does not any more; of all if uri is empty.
func (s *topics) disagree(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if uri == "" {
		clear(s.agreed)
	}
	delete(s.agreed, uri)
}

// fail ends the watchers of a resource, or of all if uri is empty.
func (s *topics) fail(uri string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if uri == "" || w.uri == uri {
			w.err = err
			poke(w.signal)
		}
	}
}

// resourceUpdated takes an announcement.
func (c *Client) resourceUpdated(params json.RawMessage) {
	if uri, ok := jsonscan.String(jsonscan.Member(params, "uri")); ok {
		c.topics.tell(uri)
	}
}

// partOf reports whether a resource is another one, or a part of it.
func partOf(uri, whole string) bool {
	return uri == whole || strings.HasPrefix(uri, strings.TrimSuffix(whole, "/")+"/")
}

// announcesUpdates reports whether the server says that it announces changes.
func (conn *connection) announcesUpdates() bool {
	resources := conn.info.capabilities.Resources
	return resources != nil && resources.Subscribe
}

func (c *Client) announcesNothing() error {
	return WithOutcome(fmt.Errorf("mcp: server %q does not announce changes of resources: %w", c.name, errors.ErrUnsupported), NotSent)
}

// follow has the server announce changes. Those who wait for some that this
// server will not announce, unlike the one before it, wait no longer.
func (c *Client) follow(ctx context.Context, conn *connection) error {
	c.topics.disagree("")
	if !conn.announcesUpdates() {
		c.topics.fail("", c.announcesNothing())
	}
	if conn.modern() {
		return c.listen(ctx, conn)
	}
	if conn.announcesUpdates() {
		conn.run(func() { c.subscribe(conn) })
	}
	return nil
}

// resourcesOf returns the resources that a filter names.
func resourcesOf(filter []byte) map[string]bool {
	set := make(map[string]bool)
	for item := range jsonscan.Elements(jsonscan.Member(filter, "resourceSubscriptions")) {
		if uri, ok := jsonscan.String(item); ok {
			set[uri] = true
		}
	}
	return set
}

// agreedOn wakes the watchers of those resources whose changes the server will
// announce, and ends those of the others that it was asked for.
func (c *Client) agreedOn(asked, filter []byte) {
	agreed := resourcesOf(filter)
	c.topics.disagree("")
	for uri := range resourcesOf(asked) {
		if agreed[uri] {
			c.topics.agree(uri)
		} else {
			c.topics.fail(uri, WithOutcome(fmt.Errorf("mcp: server %q does not announce changes of %q: %w", c.name, uri, errors.ErrUnsupported), Answered))
		}
	}
}

// subscribe has a server of an older revision announce changes of the resources
// that a person follows, one by one.
func (c *Client) subscribe(conn *connection) {
	const subscribe, unsubscribe = "resources/subscribe", "resources/unsubscribe"
	tell := func(method, uri string) error {
		return c.tellServer(conn.ctx, conn, method, member{"uri", appendQuoted(nil, uri)})
	}
	have := make(map[string]bool)
	for {
		wanted := c.topics.uris()
		for _, uri := range wanted {
			if have[uri] {
				continue
			}
			err := tell(subscribe, uri)
			switch {
			case err == nil:
				have[uri] = true
				c.topics.agree(uri)
			case conn.hasEnded(), conn.ctx.Err() != nil:
				return // the next connection is asked
			default:
				if !errors.As(err, new(*ServerError)) {
					c.opts.Logger.Warn("mcp: no subscription", "server", c.name, "uri", uri, "error", err)
				}
				c.topics.fail(uri, err)
			}
		}
		for uri := range have {
			if !slices.Contains(wanted, uri) {
				delete(have, uri)
				c.topics.disagree(uri)
				_ = tell(unsubscribe, uri) // it may go on announcing
			}
		}
		select {
		case <-c.topics.changed:
		case <-conn.ctx.Done():
			return
		}
	}
}

// tellServer sends a request whose result is nothing, on one connection alone.
func (c *Client) tellServer(ctx context.Context, conn *connection, method string, param member) error {
	r := c.briefRequest(method, param)
	if _, err := c.sendOnce(ctx, conn, r, &pendingRequest{}); err != nil {
		return c.explain(r, err)
	}
	return nil
}
