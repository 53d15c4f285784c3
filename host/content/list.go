package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

const (
	// listTimeout is how long each server has for its list, from when it is asked.
	listTimeout = 10 * time.Second
	// maxItems bounds what is taken of one server's list, whose bytes are bounded by the
	// options of its client.
	maxItems = 10_000
	// maxAsked bounds the servers that are asked at one time.
	maxAsked = 64
)

// A Content is the resources and prompts of all servers of a host. Make one with [New]. It
// holds nothing but the host, and its methods are safe for concurrent use.
type Content struct {
	host     *host.Host
	timeout  time.Duration // listTimeout, but in tests
	maxItems int           // maxItems, but in tests
}

// New returns the content of the servers of h.
func New(h *host.Host) *Content {
	if h == nil {
		h = new(host.Host) // which says what it is
	}
	return &Content{h, listTimeout, maxItems}
}

// ListOptions configure requests to all servers. The zero value, and nil, mean the
// defaults.
type ListOptions struct {
	// Servers are the names of the servers to ask; one that is disabled or cannot be
	// used is an error then. Default: all that are enabled.
	Servers []string
	// Start has lazy servers asked that do not run, which starts them.
	Start bool
}

// A Listing is what all servers answered. One that fails, does not answer within 10 seconds, or
// lists more than 10,000 items takes nothing from the others.
type Listing[T any] struct {
	// Items are what the servers listed: in the order of the configuration and, of
	// one server, in its own. No two have the same address or name.
	Items []T
	// Errors says by server why its list is missing, or not all of it is there. A
	// server that has no such list is no error.
	Errors map[string]error
	// NotAsked are enabled servers that were not asked: lazy ones that do not run, those
	// with a connection for each user where ctx has no user, and those that
	// are not allowed yet, are in quarantine, or whose entry cannot be used.
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
func askedServers(ctx context.Context, h *host.Host, opts *ListOptions) (asked []askedServer, notAsked []string) {
	stages := map[string]host.Stage{}
	var all []string
	for _, s := range h.Servers() {
		stages[s.Name] = s.Stage
		all = append(all, s.Name)
	}
	names := opts.Servers
	if names == nil {
		names = all
	}
	user, _ := session.UserOf(ctx)
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		i, err := h.Inspect(name)
		if err != nil {
			asked = append(asked, askedServer{name, err})
			continue
		}
		stage := stages[name]
		unusable := stage == host.StageInvalid || stage == host.StageNotAllowed || stage == host.StageQuarantined
		switch {
		case opts.Servers == nil && stage == host.StageDisabled:
		case opts.Servers == nil && unusable:
			notAsked = append(notAsked, name)
		case stage == host.StageDisabled, unusable: // asking says why
			asked = append(asked, askedServer{name, nil})
		case isPerUser(i) && user == "", i.Entry.Lazy && !opts.Start && clientFor(i, user) == nil:
			notAsked = append(notAsked, name)
		default:
			asked = append(asked, askedServer{name, nil})
		}
	}
	return asked, notAsked
}

// isPerUser reports whether users have connections of their own to a server.
func isPerUser(i *host.Inspection) bool {
	return i.Entry.Identity == config.IdentityUser || i.Entry.Identity == config.IdentityHeader
}

// clientFor returns the client that requests of a user are made with, if there is one now.
func clientFor(i *host.Inspection, user string) *mcp.Client {
	if isPerUser(i) {
		return i.Users[user]
	}
	return i.Client
}

// listAll asks servers for a list, many at one time. Key tells items apart; of two
// with the same one the first is kept.
func listAll[S, T any](ctx context.Context, c *Content, opts *ListOptions, what string,
	list func(*mcp.Client, context.Context) iter.Seq2[*S, error], item func(server string, s *S) (key string, t T),
) *Listing[T] {
	if ctx == nil {
		panic("content: the context is nil") // and not on a goroutine of its own
	}
	o := *cmp.Or(opts, new(ListOptions))
	servers, notAsked := askedServers(ctx, c.host, &o)
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
			s.err = fmt.Errorf("content: server %q was not asked for its %s: %w", s.name, what, ctx.Err())
			continue
		}
		wg.Go(func() {
			defer func() { <-room }()
			items[i], s.err = listOne(ctx, c, s.name, what, list, item)
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
func listOne[S, T any](ctx context.Context, c *Content, server, what string,
	list func(*mcp.Client, context.Context) iter.Seq2[*S, error], item func(server string, s *S) (string, T),
) (items []T, err error) {
	own, stop := context.WithTimeout(ctx, c.timeout)
	defer stop()
	err = c.host.WithClient(own, session.Key{Server: server}, func(its context.Context, client *mcp.Client) error {
		seen := map[string]bool{}
		n := 0
		for s, err := range list(client, its) {
			if err != nil {
				return err
			}
			if n++; n > c.maxItems {
				return fmt.Errorf("content: server %q: %w", server, &mcp.LimitError{Limit: what + " of a server", Max: int64(c.maxItems)})
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
		err = fmt.Errorf("content: server %q did not list its %s within %v: %w", server, what, c.timeout, err)
	}
	return items, err
}
