package host

import (
	"context"
	"errors"
	"iter"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// ResourceUpdates yields an address whenever the resource may have changed, as
// [mcp.Client.ResourceUpdates] does its URI: first when the server has agreed to
// announce changes, and also when the server was connected or replaced anew. It may
// be the address of a part of the resource. A lazy server is started for it.
//
// To follow a resource is no use of the server: a lazy one, and the client of a user,
// ends when it is idle. What changed meanwhile is told when somebody uses it again.
//
// It ends when ctx ends or the host is closed. Otherwise the last yield is an error:
// those of ReadResource if there is no such server, not any more, or it is disabled,
// and [errors.ErrUnsupported] if the server does not announce changes.
func (h *Host) ResourceUpdates(ctx context.Context, address string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		server, uri, err := ParseAddress(address)
		if err != nil {
			yield("", err)
			return
		}
		var c *mcp.Client
		err = h.at(ctx, address, func(_ context.Context, first *mcp.Client, _ string) error {
			c = first
			return nil
		})
		for err == nil && c != nil {
			// The client is not held: its owner may end it.
			for changed, failed := range c.ResourceUpdates(h.contextAt(ctx, server), uri) {
				if errors.Is(failed, mcp.ErrClosed) {
					break
				}
				if failed != nil {
					err = failed
					break
				}
				if !yield(Address(server, changed), nil) {
					return
				}
			}
			if err == nil {
				c, err = h.clientAfter(ctx, address, server, uri, c)
			}
		}
		if err != nil && ctx.Err() == nil && !h.isClosing() {
			yield("", err)
		}
	}
}

// contextAt returns the context to make requests of a server with.
func (h *Host) contextAt(ctx context.Context, server string) context.Context {
	if sl, err := h.slot(server); err == nil {
		if s := sl.now(); s != nil && !s.perUser() {
			return session.WithUser(ctx, "") // the connection is everybody's
		}
	}
	return ctx
}

// clientAfter returns the client of a server for ctx's user as soon as there is another
// one than before, which was closed. It returns none if ctx ended or the host was closed.
func (h *Host) clientAfter(ctx context.Context, address, server, uri string, before *mcp.Client) (*mcp.Client, error) {
	user, _ := session.UserOf(ctx)
	for range h.Watch(ctx) {
		if ctx.Err() != nil || h.isClosing() {
			break
		}
		sl, err := h.slot(server)
		if err != nil {
			return nil, h.noSuchServer(address, server, uri, err)
		}
		s, err := sl.present()
		if err != nil {
			return nil, h.noSuchServer(address, server, uri, err)
		}
		if !s.active() {
			_, err := s.open()
			return nil, err
		}
		if c := s.runningFor(user); c != nil && c != before {
			return c, nil
		}
	}
	return nil, nil
}
