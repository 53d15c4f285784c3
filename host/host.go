package host

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Host runs the servers of a configuration. Make one with [New] or [Open]. Its methods
// are safe for concurrent use, and wait for each other only where they change the same server.
type Host struct {
	shared

	withdrawn chan struct{} // closed when, after Close, no tool is left in the registry
	gone      chan struct{} // closed when nothing is left
	detach    []func()      // end what the host does for the registry, and the news of logins
	loading   chan struct{} // holds a token while ApplyServers loads servers

	// The mu of shared guards the following.

	supervisors map[string]*supervisor // by the names of order
	scopes      scopes
}

// Registry returns the registry that holds the servers' tools.
func (h *Host) Registry() *registry.Registry { return h.registry }

// Servers returns where each server stands, in the order of the configuration.
func (h *Host) Servers() []Status {
	servers := h.current()
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
			changed := h.changed.Rung()
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

// An Inspection is what is known of a server besides its [Status]. Do not change what it
// points to.
type Inspection struct {
	// Entry is the config entry that the server runs as, with its secrets.
	Entry *config.Server
	// Client is the client that all users share; nil if there is none now. Do not close it,
	// and do not keep it: see [Host.Client].
	Client *mcp.Client
	// Users are the clients of users, by user, as far as there are any now. The same holds
	// for them.
	Users map[string]*mcp.Client
	// AwaitsLogin says that the tools of the server are not known, and are read with the
	// first login of a user.
	AwaitsLogin bool
	// Calls are the calls of the server's tools.
	Calls Calls
	// LastFailure is the last failure of the server, though all may be well since.
	LastFailure Failure
}

// Inspect returns what is known of one server. Nothing is started, connected or ended for
// it. The error is an [*UnknownServerError] or [ErrClosed].
func (h *Host) Inspect(name string) (*Inspection, error) {
	s, err := h.server(name)
	if err != nil {
		return nil, err
	}
	i := &Inspection{
		Entry:       s.entry,
		AwaitsLogin: s.awaitsLogin(),
		Calls:       s.target.meter.calls(),
		Users:       map[string]*mcp.Client{},
	}
	if last := s.target.meter.last.Load(); last != nil {
		i.LastFailure = *last
	}
	if c := s.running(); c != nil {
		i.Client = c.client
	}
	for _, c := range s.pool.users() {
		i.Users[c.key.User] = c.client
	}
	return i, nil
}

// made returns an error for the zero Host.
func (h *Host) made() error {
	if h == nil || h.registry == nil {
		return errors.New("host: the zero Host is not usable: make it with New or Open")
	}
	return nil
}

// visit begins something that the end of the host waits for, until leave is called.
func (h *Host) visit() (leave func(), err error) {
	if err := h.made(); err != nil {
		return nil, err
	}
	return h.shared.visit()
}

// current returns the servers there are, in the order of the configuration.
func (h *Host) current() []*server {
	if err := h.made(); err != nil {
		panic(err.Error())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	servers := make([]*server, 0, len(h.order))
	for _, name := range h.order {
		if s := h.supervisors[name].now(); s != nil {
			servers = append(servers, s)
		}
	}
	return servers
}

// supervisor returns the supervisor of a name.
func (h *Host) supervisor(name string) (*supervisor, error) {
	if err := h.made(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if sv := h.supervisors[name]; sv != nil {
		return sv, nil
	}
	if h.isClosing() {
		return nil, ErrClosed
	}
	return nil, &UnknownServerError{name, h.order}
}

// server returns the server of a name, or why there is none.
func (h *Host) server(name string) (*server, error) {
	sv, err := h.supervisor(name)
	if err != nil {
		return nil, err
	}
	return sv.get()
}

// Shutdown begins nothing new, removes all tools, waits for calls under way until ctx
// ends, and closes the host. It can be called at any moment, and several times: ctx
// cuts off what earlier calls wait for. It returns ctx's error if calls were cut off.
func (h *Host) Shutdown(ctx context.Context) error {
	need(ctx)
	if h.made() != nil {
		return nil // there is nothing to close
	}
	h.mu.Lock()
	first := !h.isClosing()
	h.refuse()
	supervisors := slices.Collect(maps.Values(h.supervisors))
	h.mu.Unlock()
	stop := context.AfterFunc(ctx, h.cancel) // what is cut off finds the host closing
	defer stop()
	if !first {
		<-h.gone // soon after ctx has ended
		return nil
	}
	defer close(h.gone)
	h.following.End()
	finish := make([]wait, len(supervisors))
	var wg sync.WaitGroup
	for i, sv := range supervisors {
		wg.Go(func() {
			sv.changing <- struct{}{} // its holder ends soon, since the host is closing
			defer func() { <-sv.changing }()
			sv.setUnapplied(nil, nil)
			s := sv.now()
			sv.publishing.Lock() // which waits for what is being written
			s.withdraw()
			sv.publishing.Unlock()
			finish[i] = s.stop()
		})
	}
	wg.Wait()
	close(h.withdrawn)
	finish = slices.DeleteFunc(finish, func(until wait) bool { return until == nil })
	err := atOnce(finish, func(until wait) error { return until(ctx) })
	h.ending.Wait()
	h.catalogs.Close()
	h.cancel()
	for _, detach := range h.detach {
		detach()
	}
	h.changed.Ring()
	return err
}

// Close ends all servers and the calls under way. It returns when no process
// and no goroutine of the host is left, within the time that the transports
// take to close. Later calls do nothing.
func (h *Host) Close() error {
	cut, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.Shutdown(cut) // which says that calls were cut off, and nothing else
	return nil
}

// masked returns the text of an error without the secrets of a server's entry, which
// have no form by which the log could tell them.
func (h *Host) masked(server, text string) string {
	if sv, err := h.supervisor(server); err == nil {
		if s := sv.now(); s != nil {
			return s.entry.MaskError(errors.New(text))
		}
	}
	return text
}
