package host

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"os"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/catalog"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/filewatch"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Open reads the config file at path, of any format that host/config knows, and
// returns a host that runs its servers, once each of them is ready or has failed its
// first attempt, and after Options.OpenWait at the latest: the others go on to be started
// in the background, and a call of their tools says so, see [registry.NotReadyError].
// Required servers are waited for longer than that, and servers marked lazy not at all.
// What the program names like this counts as its own, and its servers start without
// asking; but those of a file with the name of a project's file, such as .mcp.json, wait
// to be allowed, see [Host.PendingLaunches]. The Scope of Options.Config says otherwise.
//
// It fails if the file cannot be read as a whole, with an error that names file,
// line and column; and with a [*ServersError] if a required
// server failed, or if ctx ends before Open is done. Then there is no host: what was
// started is ended, in the background as far as ctx leaves no time for it. A ctx that is
// to leave the servers that are ready must not end before Options.OpenWait. ctx bounds the
// opening, and not how long the host lives.
//
// Unless Options.StateDir says otherwise the host keeps files in the user's state folder,
// also if opts is nil.
func Open(ctx context.Context, path string, opts *Options) (*Host, error) {
	o := *cmp.Or(opts, new(Options))
	seen := filewatch.Look(path) // before it is read: what changes meanwhile is seen later
	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, o.Config) }
	return OpenConfig(ctx, load, filewatch.Changes([]string{path}, []os.FileInfo{seen}), &o)
}

// OpenConfig is [Open] for a configuration that is kept elsewhere: load returns it, once and
// with Options.Follow again whenever changes yields, see [Host.Follow].
func OpenConfig(ctx context.Context, load func(context.Context) (*config.Config, error), changes func(context.Context) iter.Seq[[]string], opts *Options) (*Host, error) {
	if load == nil {
		return nil, errors.New("host: OpenConfig: load is nil: it has to return the configuration")
	}
	c, err := load(ctx)
	if err != nil {
		return nil, err
	}
	h := New(opts)
	steps, _, err := h.beginApply(ctx, c)
	if err == nil {
		err = h.awaitSteps(ctx, steps)
	}
	if err != nil {
		return nil, errors.Join(err, h.abandon(ctx))
	}
	if h.opts.Follow {
		h.ending.Go(func() { _ = h.Follow(h.intake, changes, load, nil) }) // nobody has closed it yet
	}
	return h, nil
}

// awaitSteps waits until the steps have begun, and until each has ended or need not be waited
// for.
func (h *Host) awaitSteps(ctx context.Context, steps []*step) error {
	soon, cancel := ctx, context.CancelFunc(func() {})
	if wait := h.opts.OpenWait; wait > 0 {
		soon, cancel = context.WithTimeout(ctx, wait)
	}
	defer cancel()
	for _, st := range steps {
		await(ctx, st.begun)
		patience := soon
		if st.entry.Required {
			patience = ctx
		}
		await(patience, st.ended)
	}
	_, err := h.report(ctx, steps)
	return err
}

// abandon closes a host that could not be opened. It returns when its tools are out of the
// registry, which may be used for the next attempt, and all is closed or ctx has
// ended; what is left is closed in the background.
func (h *Host) abandon(ctx context.Context) error {
	closed := make(chan error, 1)
	go func() { closed <- h.Close() }()
	<-h.withdrawn
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// New returns a host without servers.
func New(opts *Options) *Host {
	h := &Host{
		shared:      shared{opts: *cmp.Or(opts, new(Options))},
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
	h.consents.registry, h.consents.book = h.registry, o.Consents
	h.consents.state = statedir.Folder(o.StateDir)
	h.catalogs = catalog.Open(h.consents.state, o.Catalogs)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.intake, h.refuse = context.WithCancel(context.Background())
	h.following = again.New(h.obeyConsents)
	h.events = events.NewRecorder(o.Activity, h.masked)
	h.detach = []func(){h.events.Calls(h.registry)}
	if t, ok := o.Client.Tracer.(interface {
		Registry(*registry.Registry) (stop func())
	}); ok {
		h.detach = append(h.detach, t.Registry(h.registry))
	}
	if o.Logins != nil {
		h.detach = append(h.detach, o.Logins.OnLogin(h.loggedIn))
	}
	if stop := h.registry.Explain(h.explain); o.Registry != nil { // which may live longer
		h.detach = append(h.detach, stop)
	}
	return h
}
