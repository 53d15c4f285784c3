package content

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// ResourceUpdates yields an address whenever the resource may have changed, as
// [mcp.Client.ResourceUpdates] does its URI: first when the server has agreed to
// announce changes, and also when the server was connected or replaced anew. It may
// be the address of a part of the resource. A lazy server is started for it.
//
// To follow a resource is no use of the server: a lazy one, and the client of a user,
// ends when it is idle. Changes meanwhile are told when it is used again.
//
// It ends when ctx ends or the host is closed. Otherwise the last yield is an error:
// those of ReadResource if there is no such server, not any more, or it is disabled,
// and [errors.ErrUnsupported] if the server does not announce changes.
func (c *Content) ResourceUpdates(ctx context.Context, address string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		server, uri, err := ParseAddress(address)
		if err != nil {
			yield("", err)
			return
		}
		var client *mcp.Client
		err = c.at(ctx, address, func(_ context.Context, first *mcp.Client, _ string) error {
			client = first
			return nil
		})
		for err == nil && client != nil {
			// The client is not held: its owner may end it.
			for changed, failed := range client.ResourceUpdates(c.contextAt(ctx, server), uri) {
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
				client, err = c.clientAfter(ctx, address, server, uri, client)
			}
		}
		if _, gone := c.host.Inspect(server); err != nil && ctx.Err() == nil && !errors.Is(gone, host.ErrClosed) {
			yield("", err)
		}
	}
}

// contextAt returns the context to make requests of a server with.
func (c *Content) contextAt(ctx context.Context, server string) context.Context {
	if i, err := c.host.Inspect(server); err == nil && !isPerUser(i) {
		return session.WithUser(ctx, "") // all users share the connection
	}
	return ctx
}

// clientAfter returns the client of a server for ctx's user as soon as there is another
// one than before, which was closed. It returns none if ctx ended or the host was closed.
func (c *Content) clientAfter(ctx context.Context, address, server, uri string, before *mcp.Client) (*mcp.Client, error) {
	user, _ := session.UserOf(ctx)
	for servers := range c.host.Watch(ctx) {
		if ctx.Err() != nil {
			break
		}
		i, err := c.host.Inspect(server)
		switch {
		case errors.Is(err, host.ErrClosed):
			return nil, nil
		case err != nil:
			return nil, noSuchServer(address, server, uri, err)
		}
		at := slices.IndexFunc(servers, func(s host.Status) bool { return s.Name == server })
		if at >= 0 {
			switch servers[at].Stage {
			case host.StageDisabled, host.StageInvalid, host.StageNotAllowed, host.StageQuarantined:
				// It says why the server is of no use.
				if _, err := c.host.Client(ctx, session.Key{Server: server}); err != nil {
					return nil, err
				}
				continue
			}
		}
		if next := clientFor(i, user); next != nil && next != before {
			return next, nil
		}
	}
	return nil, nil
}
