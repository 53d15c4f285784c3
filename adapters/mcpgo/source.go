package mcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	gomcp "github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Source is a server that a client of mcp-go is connected to, as a server of a
// registry. It is safe for concurrent use.
type Source struct {
	client   *client.Client
	server   registry.Server
	registry *registry.Registry
	changed  chan struct{} // holds a value when the server has said that its list changed
	listing  chan struct{} // holds a value while a list is read

	stuck atomic.Int32 // calls that were abandoned and have not ended

	mu       sync.Mutex
	progress map[string]chan *mcp.ProgressParams // by token, of the calls that want it
}

// NewSource returns the server of a client, which has been started and initialized or
// will be, for a registry. It listens to the notifications of the client for as long as
// this lives; make one Source for a client.
func NewSource(c *client.Client, server registry.Server, r *registry.Registry) *Source {
	s := &Source{
		client: c, server: server, registry: r,
		changed: make(chan struct{}, 1), listing: make(chan struct{}, 1), progress: map[string]chan *mcp.ProgressParams{},
	}
	c.OnNotification(s.notified)
	return s
}

// Refresh lists the server's tools, all pages, and makes them those of the registry, see
// [registry.Registry.Replace]. A tool that cannot be read is among those that are
// rejected. If the list cannot be had, or has more than 5,000 tools, the registry stays as
// it is. One list is read at a time: a concurrent caller waits.
func (s *Source) Refresh(ctx context.Context) (registry.Diff, error) {
	select {
	case s.listing <- struct{}{}:
	case <-ctx.Done():
		return registry.Diff{}, s.unlisted(context.Cause(ctx))
	}
	over := begin(func() (registry.Diff, error) {
		defer func() { <-s.listing }()
		tools, rejected, err := s.list(ctx)
		if err == nil {
			err = ctx.Err() // no caller waits any more
		}
		if err != nil {
			return registry.Diff{}, s.unlisted(err)
		}
		diff, err := s.registry.Replace(s.server, tools)
		diff.Rejected = append(diff.Rejected, rejected...)
		return diff, err
	})
	select {
	case o := <-over:
		return o.get()
	case <-ctx.Done():
		return registry.Diff{}, s.unlisted(context.Cause(ctx))
	}
}

func (s *Source) unlisted(err error) error {
	return fmt.Errorf("mcpgo: the tools of server %q could not be listed: %w", s.server.Name, withoutAddress(err))
}

// notified takes a notification of the server. It must not wait: the client reads
// nothing meanwhile.
func (s *Source) notified(n gomcp.JSONRPCNotification) {
	switch n.Method {
	case gomcp.MethodNotificationToolsListChanged, gomcp.MethodNotificationSubscriptionsAcknowledged:
		s.change() // no notification tells what changed before it listened
	case "notifications/progress":
		s.progressed(n.Params.AdditionalFields)
	}
}

// progressed tells a call of its progress, unless that is slow to hear of it.
func (s *Source) progressed(fields map[string]any) {
	token, ok := fields["progressToken"].(string)
	if !ok {
		return
	}
	s.mu.Lock()
	reports := s.progress[token]
	s.mu.Unlock()
	data, err := json.Marshal(fields)
	var params mcp.ProgressParams
	if reports == nil || err != nil || json.Unmarshal(data, &params) != nil {
		return
	}
	select {
	case reports <- &params:
	default:
	}
}

// maxReports is how many reports of progress wait for a call to take them.
const maxReports = 64

// expect returns a token for the progress of a call, and its reports until end.
func (s *Source) expect() (token string, reports <-chan *mcp.ProgressParams, end func()) {
	token = rand.Text()
	c := make(chan *mcp.ProgressParams, maxReports)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress[token] = c
	return token, c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.progress, token)
	}
}

// A shownError is an error whose text has not all of the server's address: keys stand
// in the path and the query of some.
type shownError struct {
	err  error
	text string
}

func (e *shownError) Error() string { return e.text }

func (e *shownError) Unwrap() error { return e.err }

// withoutAddress returns an error of the client with no more of the server's address in
// its text than scheme, host and port.
func withoutAddress(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) || failed.URL == "" {
		return err
	}
	shown := "its address"
	if u, broken := url.Parse(failed.URL); broken == nil && u.Host != "" {
		shown = u.Scheme + "://" + u.Host
	}
	return &shownError{err, strings.ReplaceAll(err.Error(), failed.URL, shown)}
}
