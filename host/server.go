package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A server is one entry of the configuration. While it runs it owns a client
// and one goroutine, which follows the client's state and keeps the registry.
type server struct {
	host  *Host
	entry *config.Server // never changed
	hash  string

	stop    context.CancelFunc
	wg      sync.WaitGroup
	settled chan struct{} // closed after the first attempt
	once    sync.Once     // closes settled

	// publishing is held while the registry takes over the tools, which may
	// wait for a disk. Whoever holds it may lock mu, not the other way round.
	publishing sync.Mutex

	mu       sync.Mutex  // guards the following
	client   *mcp.Client // nil unless the server runs; set once
	source   config.Source
	public   bool // its tools belong into the registry
	enabled  bool
	err      error // why it cannot run, or why its tools could not be listed
	tools    []registry.Tool
	listed   uint64 // State.ToolsVersion of tools; 0: none listed
	rejected []registry.Rejection
	unnoted  bool        // err is that of the registry
	grace    *time.Timer // removes the tools of a lost server
}

const (
	listRetryBase    = time.Second
	listRetryCeiling = 30 * time.Second
)

func (h *Host) newServer(entry *config.Server) *server {
	return &server{
		host:    h,
		entry:   entry,
		hash:    entry.Hash(),
		settled: make(chan struct{}),
		source:  entry.Source,
		enabled: entry.Enabled && entry.Err == nil,
		err:     entry.Err,
	}
}

// start begins to run the server. Its tools go into the registry at once if
// public is set, else when publish is called.
func (s *server) start(public bool) {
	t, err := s.transport()
	if err != nil {
		s.fail(err)
		s.settle()
		return
	}
	o := s.host.opts.Client
	if s.entry.ConnectTimeout > 0 {
		o.ConnectTimeout = s.entry.ConnectTimeout
	}
	if s.entry.ReadTimeout > 0 {
		o.IdleTimeout = s.entry.ReadTimeout
	}
	o.TrustAnnotations = s.entry.Trust
	ctx, stop := context.WithCancel(s.host.ctx)
	client := mcp.NewClient(s.entry.Name, t, &o)
	s.mu.Lock()
	s.client, s.public, s.enabled = client, public, true
	s.mu.Unlock()
	s.stop = stop
	s.wg.Go(func() { s.follow(ctx) })
}

// running returns the server's client, or nil.
func (s *server) running() *mcp.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *server) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.host.broadcast()
}

// transport makes the server's transport as its entry says.
func (s *server) transport() (mcp.Transport, error) {
	e := s.entry
	if e.Err != nil {
		return nil, e.Err
	}
	if own := s.host.opts.Transport; own != nil {
		if t, err := own(session.Key{Server: e.Name}, e); t != nil || err != nil {
			return t, err
		}
	}
	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value.Reveal())
	}
	var login auth.OAuthHandler
	if s.host.opts.OAuth != nil {
		login = s.host.opts.OAuth(session.Key{Server: e.Name})
	}
	switch e.Transport {
	case config.TransportStdio:
		env := make([]string, 0, len(e.Env))
		for name, value := range e.Env {
			env = append(env, name+"="+value.Reveal())
		}
		return &transport.Command{Path: e.Command, Args: e.Args, Dir: e.Cwd, Env: env, Stderr: s.logStderr(), Watchdog: &s.host.watchdog}, nil
	case config.TransportHTTP:
		return &transport.HTTP{URL: e.URL, Header: header, OAuth: login}, nil
	case config.TransportSSE:
		return &transport.SSE{URL: e.URL, Header: header, OAuth: login}, nil
	case config.TransportAuto:
		return &transport.Auto{URL: e.URL, Header: header, OAuth: login}, nil
	}
	return nil, fmt.Errorf("server %q: unknown transport %q", e.Name, e.Transport)
}

// logStderr returns what logs the lines of a server's standard error, or nil if
// nobody would see them.
func (s *server) logStderr() func(string) {
	logger := s.host.opts.Client.Logger
	if logger == nil || !logger.Enabled(s.host.ctx, slog.LevelDebug) {
		return nil
	}
	return func(line string) { logger.Debug("mcp: stderr", "server", s.entry.Name, "line", line) }
}

// follow keeps the registry as the client's state wants it, until ctx ends.
func (s *server) follow(ctx context.Context) {
	defer s.settle()
	if s.entry.Lazy {
		s.settle()
	} else {
		s.client.Connect()
	}
	for state := range s.client.Watch(ctx) {
		switch state.Phase {
		case mcp.Ready:
			s.list(ctx)
		case mcp.Connecting:
			s.lost()
		case mcp.Waiting:
			s.lost()
			s.settle()
		case mcp.Authenticating:
			// The tools stay: who calls one is told to log in.
			s.keep()
			s.settle()
		}
		s.host.broadcast()
	}
}

// settle says that the first attempt has ended.
func (s *server) settle() { s.once.Do(func() { close(s.settled) }) }

// list reads the server's tools and publishes them. If that fails while the
// connection lasts it is tried again, with growing waits.
func (s *server) list(ctx context.Context) {
	for attempt := 0; !s.listOnce(ctx); attempt++ {
		s.settle()
		timer := time.NewTimer(backoff.Full(attempt, listRetryBase/2, listRetryBase, listRetryCeiling))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
	s.settle()
}

// listOnce reads the tools unless they are known, and reports whether there is
// nothing more to read for the present connection.
func (s *server) listOnce(ctx context.Context) bool {
	state := s.client.State()
	if state.Phase != mcp.Ready {
		return true
	}
	if s.isListed(state.ToolsVersion) {
		return s.noted() || s.update()
	}
	tools, err := s.client.Tools(ctx)
	if err != nil {
		s.fail(fmt.Errorf("listing the tools: %w", err))
		return ctx.Err() != nil
	}
	return s.found(state.ToolsVersion, s.wrap(tools))
}

// wrap makes registry tools of what the server listed, by the entry's filter.
func (s *server) wrap(listed []*mcp.Tool) []registry.Tool {
	filter := s.entry.Tools
	tools := make([]registry.Tool, 0, len(listed))
	for _, t := range listed {
		if filter.Allow != nil && !slices.Contains(filter.Allow, t.Name) || slices.Contains(filter.Deny, t.Name) {
			continue
		}
		tool := registry.Remote(s.entry.Name, s.client, t)
		if name, ok := filter.Rename[t.Name]; ok {
			renamed, err := registry.With(tool, func(d *registry.Definition) { d.Alias = name })
			if err == nil {
				tool = renamed
			}
		}
		tools = append(tools, tool)
	}
	return tools
}

func (s *server) isListed(version uint64) bool {
	s.keep()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed == version
}

// keep lets the tools stay although the connection was lost.
func (s *server) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grace != nil {
		s.grace.Stop()
		s.grace = nil
	}
}

// found takes over a list of tools, and reports whether that is all there is to do.
func (s *server) found(version uint64, tools []registry.Tool) bool {
	s.mu.Lock()
	s.listed, s.tools, s.err = version, tools, nil
	s.mu.Unlock()
	return s.update()
}

// noted reports whether the registry has taken over the tools without an error.
func (s *server) noted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.unnoted
}

// publish puts the tools of a server that was started in private into the
// registry.
func (s *server) publish() {
	s.mu.Lock()
	s.public = true
	s.mu.Unlock()
	s.update()
}

// update makes the registry list the tools as they are now. It reports whether
// there was no error; if there was, the ledger may be sound again later.
func (s *server) update() bool {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.mu.Lock()
	public, tools := s.public, s.tools
	s.mu.Unlock()
	if !public {
		return true
	}
	facts := registry.Server{Name: s.entry.Name, Trusted: s.entry.Trust, Fingerprint: s.entry.Fingerprint()}
	diff, err := s.host.registry.ReplaceServer(facts, tools)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected = diff.Rejected
	if s.unnoted || err != nil {
		s.err = err
	}
	s.unnoted = err != nil
	return err == nil
}

// lost lets the tools vanish if the connection does not come back soon.
func (s *server) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grace != nil || s.listed == 0 {
		return
	}
	s.grace = time.AfterFunc(max(s.host.opts.ToolGrace, 0), s.vanish)
}

func (s *server) vanish() {
	s.mu.Lock()
	if s.grace == nil {
		s.mu.Unlock()
		return // the connection came back
	}
	s.grace, s.tools, s.listed = nil, nil, 0
	s.mu.Unlock()
	s.update()
	s.host.broadcast()
}

// retract takes the server's tools out of the registry for good.
func (s *server) retract() {
	s.mu.Lock()
	if s.grace != nil {
		s.grace.Stop()
		s.grace = nil
	}
	s.tools, s.listed = nil, 0
	s.mu.Unlock()
	s.update()
	s.withdraw()
}

// withdraw stops the server from writing to the registry, and leaves its tools
// there for its successor to replace.
func (s *server) withdraw() {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.public = false
}

// move notes that the entry stands elsewhere in the file now.
func (s *server) move(to config.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source = to
}

// unfollow ends the server's goroutine and its writing to the registry. The
// client goes on.
func (s *server) unfollow(removeTools bool) {
	s.stop()
	s.wg.Wait()
	if removeTools {
		s.retract()
	}
	s.withdraw()
}

// halt ends the server after its calls have finished, or when ctx ends.
func (s *server) halt(ctx context.Context) error {
	if s.running() == nil {
		return nil
	}
	s.unfollow(true)
	return s.client.Shutdown(ctx)
}

// firstAttempt waits for the first attempt of a started server, and returns
// what is wrong after it.
func (s *server) firstAttempt(ctx context.Context) error {
	select {
	case <-s.settled:
		return s.outcome()
	case <-ctx.Done():
		return fmt.Errorf("server %q: %w", s.entry.Name, ctx.Err())
	}
}

// outcome returns what is wrong with the server, with its name and place.
func (s *server) outcome() error {
	if status := s.status(); status.Err != nil {
		return fmt.Errorf("server %q (%s): %w", status.Name, status.Source, status.Err)
	}
	return nil
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := Status{
		Name:        s.entry.Name,
		Title:       s.entry.Title,
		Description: s.entry.Description,
		Source:      s.source,
		Transport:   s.entry.Transport,
		Enabled:     s.enabled,
		Rejected:    s.rejected,
		Err:         s.err,
	}
	if s.client != nil {
		status.State = s.client.State()
		status.Err = errors.Join(s.err, status.State.Err)
	}
	return status
}
