package host

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

const (
	// DefaultListTimeout is how long each server has for its list when
	// ListOptions.Timeout is zero.
	DefaultListTimeout = 10 * time.Second
	// DefaultMaxItems bounds what is taken of one server's list when
	// ListOptions.MaxItems is zero.
	DefaultMaxItems = 10_000

	// maxAsked bounds the servers that are asked at one time.
	maxAsked = 64
)

// ListOptions configure requests to all servers. The zero value, and nil, mean the
// defaults.
type ListOptions struct {
	// Servers are the names of the servers to ask; one that is disabled or cannot be
	// used is an error then. Default: all that are enabled.
	Servers []string
	// Start has lazy servers asked that do not run, which starts them.
	Start bool
	// Timeout is how long each server has, from when it is asked. Default: 10 s.
	// Negative: as long as ctx allows.
	Timeout time.Duration
	// MaxItems bounds what is taken of one server's list, whose bytes are bounded by
	// the options of its client. Default: 10,000.
	MaxItems int
}

// A Listing is what all servers answered. One that fails, or does not answer in
// time, takes nothing from the others.
type Listing[T any] struct {
	// Items are what the servers listed: in the order of the configuration and, of
	// one server, in its own. No two have the same address or name.
	Items []T
	// Errors says by server why its list is missing, or not all of it is there. A
	// server that has no such list is no error.
	Errors map[string]error
	// NotAsked are enabled servers that were not asked: lazy ones that do not run, those
	// with a connection for each user where ctx has no user, and those that wait for
	// approval, are in quarantine, or whose entry cannot be used.
	NotAsked []string
}

// Err joins the errors, by the names of the servers. It is nil if there are none.
func (l *Listing[T]) Err() error {
	errs := make([]error, 0, len(l.Errors))
	for _, server := range slices.Sorted(maps.Keys(l.Errors)) {
		errs = append(errs, l.Errors[server])
	}
	return errors.Join(errs...)
}

// An askedServer is one that a list is asked of.
type askedServer struct {
	name string
	err  error // it cannot be asked
}

// askedServers returns the servers to ask, and those that are left alone.
func (h *Host) askedServers(ctx context.Context, opts *ListOptions) (asked []askedServer, notAsked []string) {
	names := opts.Servers
	if names == nil {
		names = h.names()
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		switch use, err := h.useOf(ctx, name); {
		case err != nil:
			asked = append(asked, askedServer{name, err})
		case use == useDisabled && opts.Servers == nil:
		case use == useUnusable && opts.Servers == nil, use == useNobody, use == useLazy && !opts.Start:
			notAsked = append(notAsked, name)
		default:
			asked = append(asked, askedServer{name, nil})
		}
	}
	return asked, notAsked
}

// listAll asks servers for a list, many at one time. Key tells items apart; of two
// with the same one the first is kept.
func listAll[S, T any](ctx context.Context, h *Host, opts *ListOptions, what string,
	list func(*mcp.Client, context.Context) iter.Seq2[*S, error], item func(server string, s *S) (key string, t T),
) *Listing[T] {
	need(ctx)
	var o ListOptions
	if opts != nil {
		o = *opts
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultListTimeout
	}
	if o.MaxItems <= 0 {
		o.MaxItems = DefaultMaxItems
	}
	servers, notAsked := h.askedServers(ctx, &o)
	items := make([][]T, len(servers))
	var wg sync.WaitGroup
	room := make(chan struct{}, maxAsked)
	for i := range servers {
		s := &servers[i]
		if s.err != nil {
			continue
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			s.err = fmt.Errorf("host: server %q was not asked for its %s: %w", s.name, what, ctx.Err())
			continue
		}
		wg.Go(func() {
			defer func() { <-room }()
			items[i], s.err = listOne(ctx, h, &o, s.name, what, list, item)
		})
	}
	wg.Wait()
	l := &Listing[T]{Errors: map[string]error{}, NotAsked: notAsked}
	for i, s := range servers {
		l.Items = append(l.Items, items[i]...)
		if s.err != nil {
			l.Errors[s.name] = s.err
		}
	}
	return l
}

// listOne asks one server. With an error it returns what was listed before.
func listOne[S, T any](ctx context.Context, h *Host, o *ListOptions, server, what string,
	list func(*mcp.Client, context.Context) iter.Seq2[*S, error], item func(server string, s *S) (string, T),
) (items []T, err error) {
	own := ctx
	if o.Timeout > 0 {
		var stop context.CancelFunc
		own, stop = context.WithTimeout(ctx, o.Timeout)
		defer stop()
	}
	err = h.WithClient(own, session.Key{Server: server}, func(its context.Context, c *mcp.Client) error {
		seen := map[string]bool{}
		n := 0
		for s, err := range list(c, its) {
			if err != nil {
				return err
			}
			if n++; n > o.MaxItems {
				return fmt.Errorf("host: server %q: %w", server, &mcp.LimitError{Limit: what + " of a server", Max: int64(o.MaxItems)})
			}
			key, t := item(server, s)
			if seen[key] {
				continue
			}
			seen[key] = true
			items = append(items, t)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil && errors.Is(own.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("host: server %q did not list its %s within %v: %w", server, what, o.Timeout, err)
	}
	return items, err
}
