package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/internal/catalog"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
	"github.com/mcpbelt/mcpbelt/registry"
)

// ErrClosed is returned by the methods of a [Host] that was closed.
//
//cure:open a new Host
var ErrClosed = errors.New("host: closed")

// An UnknownServerError reports a name that is no server of the host.
//
//cure:take a name of Servers; the text proposes the nearest
type UnknownServerError struct {
	Name  string   // the name that was asked for
	Known []string // the names there are
}

func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("host: no server %q; there are %q", e.Name, e.Known)
}

// A Host runs the servers of a configuration. Make one with [New] or [Open]. Its methods
// are safe for concurrent use, and wait for each other only where they change the same server.
type Host struct {
	opts      Options
	state     string // folder for what is kept between runs; empty: nothing is
	registry  *registry.Registry
	catalogs  catalog.Cache
	ctx       context.Context // ends with Close, and cuts off what is under way
	cancel    context.CancelFunc
	intake    context.Context // ends when nothing new is begun any more, under mu
	refuse    context.CancelFunc
	withdrawn chan struct{}  // closed when, after Close, no tool is left in the registry
	gone      chan struct{}  // closed when nothing is left
	ending    sync.WaitGroup // replaced, removed and idle servers that finish their calls
	consents  consents
	following *again.Task // does what others decide about launches, while there are servers for which that matters
	events    *events.Recorder
	detach    []func()      // end what the host does for the registry, and the news of logins
	loading   chan struct{} // holds a token while ApplyServers loads servers
	changed   feed.Bell     // rung when what Servers returns has changed

	mu          sync.Mutex // guards the following
	supervisors map[string]*supervisor
	scopes      scopes
	order       []string // the names of supervisors, as configured; replaced, never changed
}

// New returns a host without servers.
func New(opts *Options) *Host {
	h := &Host{
		opts:        *cmp.Or(opts, new(Options)),
		withdrawn:   make(chan struct{}),
		loading:     make(chan struct{}, 1),
		gone:        make(chan struct{}),
		supervisors: map[string]*supervisor{},
		scopes:      scopes{},
	}
	o := &h.opts
	o.Client.Logger = cmp.Or(o.Client.Logger, slog.New(slog.DiscardHandler))
	o.toolGrace = cmp.Or(o.toolGrace, toolGrace)
	o.idleTimeout = cmp.Or(o.idleTimeout, idleTimeout)
	o.OpenWait = cmp.Or(o.OpenWait, defaultOpenWait)
	if o.MaxUserClients = cmp.Or(o.MaxUserClients, defaultMaxUserClients); o.MaxUserClients < 0 {
		o.MaxUserClients = math.MaxInt
	}
	h.registry = o.Registry
	if h.registry == nil {
		h.registry = registry.New(nil)
	}
	h.state = statedir.Folder(o.StateDir)
	h.catalogs = catalog.Open(h.state, o.Catalogs)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.intake, h.refuse = context.WithCancel(context.Background())
	h.following = again.New(h.obeyConsents)
	h.events = events.NewRecorder(o.Activity, h.masked)
	h.detach = []func(){h.events.Calls(h.registry), h.traceCalls()}
	if o.Logins != nil {
		h.detach = append(h.detach, o.Logins.OnLogin(h.loggedIn))
	}
	if stop := h.registry.Explain(h.explain); o.Registry != nil { // which may live longer
		h.detach = append(h.detach, stop)
	}
	return h
}

// Registry returns the registry that holds the servers' tools.
func (h *Host) Registry() *registry.Registry { return h.registry }

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

// made returns an error for the zero Host.
func (h *Host) made() error {
	if h == nil || h.registry == nil {
		return errors.New("host: the zero Host is not usable: make it with New or Open")
	}
	return nil
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

func (h *Host) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.order
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
	h.mu.Unlock()
	stop := context.AfterFunc(ctx, h.cancel) // what is cut off finds the host closing
	defer stop()
	if !first {
		<-h.gone // soon after ctx has ended
		return nil
	}
	defer close(h.gone)
	h.following.End()
	h.mu.Lock()
	supervisors := slices.Collect(maps.Values(h.supervisors))
	h.mu.Unlock()
	finish := make([]wait, len(supervisors))
	var wg sync.WaitGroup
	for i, sv := range supervisors {
		wg.Go(func() {
			sv.changing <- struct{}{} // its holder ends soon, since the host is closing
			defer func() { <-sv.changing }()
			sv.setUnapplied(nil, nil)
			if s := sv.now(); s != nil {
				sv.publishing.Lock() // which waits for what is being written
				s.withdraw()
				sv.publishing.Unlock()
				finish[i] = s.stop()
			}
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

// traceCalls has the tracer of the clients record the calls of tools, if it can.
func (h *Host) traceCalls() (stop func()) {
	t, ok := h.opts.Client.Tracer.(interface {
		Registry(*registry.Registry) (stop func())
	})
	if !ok {
		return func() {}
	}
	return t.Registry(h.registry)
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

// visit begins something that the end of the host waits for, until leave is called.
func (h *Host) visit() (leave func(), err error) {
	if err := h.made(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosing() {
		return nil, ErrClosed
	}
	h.ending.Add(1) // before the host is closed, so before it waits
	return h.ending.Done, nil
}
