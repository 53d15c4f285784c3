package mcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

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

	mu       sync.Mutex
	progress map[string]chan *mcp.ProgressParams // by token, of the calls that want it
}

// NewSource returns the server of a client, which has been started and initialized or
// will be, for a registry. It listens to the notifications of the client for as long as
// this lives; make one Source for a client.
func NewSource(c *client.Client, server registry.Server, r *registry.Registry) *Source {
	s := &Source{
		client: c, server: server, registry: r,
		changed: make(chan struct{}, 1), progress: map[string]chan *mcp.ProgressParams{},
	}
	c.OnNotification(s.notified)
	return s
}

// Refresh lists the server's tools, all pages, and makes them those of the registry, see
// [registry.Registry.ReplaceServer]. A tool that cannot be read is among those that are
// rejected. If the list cannot be had the registry stays as it is.
func (s *Source) Refresh(ctx context.Context) (registry.Diff, error) {
	tools, rejected, err := s.list(ctx)
	if err != nil {
		return registry.Diff{}, err
	}
	diff, err := s.registry.ReplaceServer(s.server, tools)
	diff.Rejected = append(diff.Rejected, rejected...)
	return diff, err
}

// Watch refreshes the tools at once, and each time the server says that they have
// changed, until ctx ends, whose error it returns. If a refresh fails it tries again,
// after a second and then less and less often; the registry has the tools of before.
//
// Of changes a client hears on stdio and SSE, and on Streamable HTTP with
// transport.WithContinuousListening. On revision 2026-07-28 Watch has it listen. A
// client has one such stream, so what [client.Client.PendingSubscriptionFilter] returns
// goes on with it; a later Listen of yours takes its place: have it listen to changes of
// tools, too.
func (s *Source) Watch(ctx context.Context) error {
	listening := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listen := func() {
		if !gomcp.IsModernProtocol(s.client.ProtocolVersion()) {
			return
		}
		filter := s.client.PendingSubscriptionFilter()
		filter.ToolsListChanged = true
		wg.Go(func() { listening <- s.client.Listen(ctx, filter) })
	}
	listen()
	wait := firstWait
	for {
		var again <-chan time.Time
		if _, err := s.Refresh(ctx); err == nil {
			wait = firstWait
		} else if again = time.After(wait); wait < longestWait {
			wait *= 2
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.changed:
		case <-again:
		case err := <-listening:
			if errors.Is(err, context.Canceled) && ctx.Err() == nil {
				continue // another stream has taken its place
			}
			select { // what changed meanwhile nobody tells
			case <-ctx.Done():
			case <-time.After(wait):
				listen()
			}
		}
	}
}

// How long Watch waits after a failure.
const (
	firstWait   = time.Second
	longestWait = time.Minute
)

// notified takes a notification of the server. It must not wait: the client reads
// nothing meanwhile.
func (s *Source) notified(n gomcp.JSONRPCNotification) {
	switch n.Method {
	case gomcp.MethodNotificationToolsListChanged:
		select {
		case s.changed <- struct{}{}:
		default:
		}
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
