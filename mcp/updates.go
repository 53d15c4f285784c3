package mcp

import (
	"context"
	"iter"
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
