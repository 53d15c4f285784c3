package host

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// ErrClosed is returned by the methods of a [Host] that was closed.
var ErrClosed = errors.New("host: closed")

// An UnknownServerError reports a name that is no server of the host.
type UnknownServerError struct {
	Name  string   // the name that was asked for
	Known []string // the names there are
}

func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("host: no server %q; there are %q", e.Name, e.Known)
}

// A Host runs the servers of a configuration. Its methods are safe for
// concurrent use.
type Host struct {
	opts     Options
	registry *registry.Registry
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc

	changing chan struct{}  // holds a token while servers are started or stopped
	retiring sync.WaitGroup // replaced and removed servers that finish their calls
	watchdog transport.Watchdog

	mu      sync.Mutex // guards the following
	servers []*server  // in the order of the configuration; replaced, never changed
	changed chan struct{}
	closed  bool
}

// Open reads the config file at path, in the mcpServers format, and returns a
// host that runs its servers, once each of them is ready or has failed its
// first attempt. Servers marked lazy are not waited for.
//
// It fails if the file cannot be read as a whole, with an error that names file,
// line and column, if a required server failed, and if ctx ends before. ctx
// bounds the opening, not the life of the host.
func Open(ctx context.Context, path string, opts *Options) (*Host, error) {
	var co *config.Options
	if opts != nil {
		co = opts.Config
	}
	c, err := config.Load(path, co)
	if err != nil {
		return nil, err
	}
	h := New(opts)
	if _, err := h.Apply(ctx, c); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// New returns a host without servers.
func New(opts *Options) *Host {
	h := &Host{changing: make(chan struct{}, 1), changed: make(chan struct{})}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.ToolGrace == 0 {
		h.opts.ToolGrace = DefaultToolGrace
	}
	h.registry = h.opts.Registry
	if h.registry == nil {
		h.registry = registry.New(nil)
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Registry returns the registry that holds the servers' tools.
func (h *Host) Registry() *registry.Registry { return h.registry }

// Servers returns where each server stands, in the order of the configuration.
func (h *Host) Servers() []Status {
	servers, _ := h.snapshot()
	status := make([]Status, len(servers))
	at := make(map[string]*Status, len(servers))
	for i, s := range servers {
		status[i] = s.status()
		at[s.entry.Name] = &status[i]
	}
	snapshot := h.registry.Snapshot()
	for _, t := range snapshot.Tools() {
		if s := at[t.Definition().Origin.Server]; s != nil {
			s.Tools++
		}
	}
	for _, q := range snapshot.Quarantined() {
		if s := at[q.Tool.Origin.Server]; s != nil {
			s.Quarantined++
		}
	}
	return status
}

// Watch yields what [Host.Servers] returns, now and after each change, until
// ctx ends or the host is closed. A slow consumer sees the newest, not all.
func (h *Host) Watch(ctx context.Context) iter.Seq[[]Status] {
	return func(yield func([]Status) bool) {
		for {
			_, changed := h.snapshot()
			if !yield(h.Servers()) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-h.ctx.Done():
				return
			}
		}
	}
}

// Client returns the client of a server that is enabled. Do not close it.
func (h *Host) Client(name string) (*mcp.Client, error) {
	s, err := h.find(name)
	if err != nil {
		return nil, err
	}
	c := s.running()
	if c == nil {
		return nil, fmt.Errorf("host: server %q does not run: %w", name, errOrDisabled(s))
	}
	return c, nil
}

var errDisabled = errors.New("it is disabled")

func errOrDisabled(s *server) error {
	if err := s.status().Err; err != nil {
		return err
	}
	return errDisabled
}

// Enable starts a server and returns when it is ready, or with the error of its
// first attempt; it then goes on trying.
func (h *Host) Enable(ctx context.Context, name string) error {
	return h.exchange(ctx, name, func(old *server) (*server, error) {
		if old.running() != nil {
			return old, nil
		}
		s := h.newServer(old.entry)
		s.start(true)
		return s, nil
	})
}

// Disable stops a server and removes its tools. Calls under way may finish
// until ctx ends.
func (h *Host) Disable(ctx context.Context, name string) error {
	return h.exchange(ctx, name, func(old *server) (*server, error) {
		s := h.newServer(old.entry)
		s.enabled, s.err = false, nil
		return s, old.halt(ctx)
	})
}

// Restart ends the connection to a server and makes a new one at once, also if
// the server was waiting for its next attempt, and returns as Enable does.
func (h *Host) Restart(ctx context.Context, name string) error {
	s, err := h.find(name)
	if err != nil {
		return err
	}
	c := s.running()
	if c == nil {
		return h.Enable(ctx, name)
	}
	if err := c.Reconnect(ctx); err != nil {
		return err
	}
	for range h.Watch(ctx) {
		state := c.State()
		s.mu.Lock()
		listed, failed := s.listed, s.err
		s.mu.Unlock()
		if state.Phase != mcp.Ready || listed == state.ToolsVersion || failed != nil {
			return failed
		}
	}
	return ctx.Err()
}

// exchange replaces the named server by what f makes of it, and waits for the
// first attempt of what is new.
func (h *Host) exchange(ctx context.Context, name string, f func(*server) (*server, error)) error {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	old, err := h.find(name)
	if err != nil {
		return err
	}
	s, err := f(old)
	servers, _ := h.snapshot()
	next := slices.Clone(servers)
	next[slices.Index(next, old)] = s
	h.set(next)
	if err != nil || !s.enabled {
		return err
	}
	return s.firstAttempt(ctx)
}

// enter waits for the right to start and stop servers.
func (h *Host) enter(ctx context.Context) (leave func(), err error) {
	select {
	case h.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if h.ctx.Err() != nil {
		<-h.changing
		return nil, ErrClosed
	}
	return func() { <-h.changing }, nil
}

func (h *Host) snapshot() ([]*server, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers, h.changed
}

func (h *Host) set(servers []*server) {
	h.mu.Lock()
	h.servers = servers
	h.mu.Unlock()
	h.broadcast()
}

func (h *Host) broadcast() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *Host) find(name string) (*server, error) {
	servers, _ := h.snapshot()
	known := make([]string, len(servers))
	for i, s := range servers {
		if s.entry.Name == name {
			return s, nil
		}
		known[i] = s.entry.Name
	}
	return nil, &UnknownServerError{name, known}
}

// Shutdown removes all tools, waits for calls under way until ctx ends, and
// closes the host. It returns ctx's error if calls were cut off.
func (h *Host) Shutdown(ctx context.Context) error {
	stop := context.AfterFunc(ctx, h.cancel)
	defer stop()
	h.changing <- struct{}{} // what holds it ends soon after h.cancel
	defer func() { <-h.changing }()
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return nil
	}
	servers, _ := h.snapshot()
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { errs[i] = s.halt(ctx) })
	}
	wg.Wait()
	h.retiring.Wait()
	h.cancel()
	h.broadcast()
	return errors.Join(append(errs, h.watchdog.Close())...) // last, when no server is left
}

// Close ends all servers and the calls under way. It returns when no process
// and no goroutine of the host is left, within the time that the transports
// take to close. Later calls do nothing.
func (h *Host) Close() error {
	cut, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Shutdown(cut); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
