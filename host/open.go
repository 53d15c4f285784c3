package host

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
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

// Follow applies a configuration again whenever it may have changed, until ctx ends,
// the host is closed, or there are no more changes. It does so in the goroutine of
// its caller and starts no other.
//
// Changes tells when: whenever it yields, load is called and what that returns is
// applied as by [Host.Apply], one after the other. [FileChanges] makes such
// changes of config files, and record.Changes of the records of a store.
// Its context ends with Follow; it must return then. What it yields are names
// for the log.
//
// If load fails, because the file is not there, or not as it should be in the midst
// of being edited, all servers go on as they are until the next change. So they do if
// an error of Apply concerns them. The host's logger is told, and done, which may be nil: what
// Apply returned, or the error of load, with an empty report.
//
// The error is that of ctx, [ErrClosed], or nil if there are no more changes.
func (h *Host) Follow(ctx context.Context, changes func(context.Context) iter.Seq[[]string], load func(context.Context) (*config.Config, error), done func(Report, error)) error {
	if err := h.made(); err != nil {
		return err
	}
	if h.isClosing() {
		return ErrClosed
	}
	if changes == nil || load == nil {
		return errors.New("host: Follow: changes and load must not be nil")
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	told := changes(own)
	if told == nil {
		return errors.New("host: Follow: changes returns nil")
	}
	for names := range told {
		if own.Err() != nil {
			break
		}
		report, err := h.reload(own, names, load)
		if own.Err() != nil {
			break
		}
		if done != nil {
			done(report, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// reload applies a configuration that may have changed.
func (h *Host) reload(ctx context.Context, names []string, load func(context.Context) (*config.Config, error)) (Report, error) {
	logger := h.opts.Client.Logger
	c, err := load(ctx)
	if err == nil && c == nil {
		err = errors.New("host: there is no configuration")
	}
	if err != nil {
		what := "host: the changed configuration is not applied: it has an error"
		if errors.Is(err, fs.ErrNotExist) {
			what = "host: the configuration is gone; its servers go on"
		}
		logger.Warn(what, "changed", names, "error", err)
		return Report{}, err
	}
	report, err := h.Apply(ctx, c)
	for server, failed := range report.Failed {
		logger.Warn("host: the configuration of a server could not be applied", "server", server, "error", failed)
	}
	if err != nil {
		return report, err
	}
	if len(report.Started)+len(report.Stopped)+len(report.Replaced)+len(report.NotAllowed) > 0 {
		logger.Info("host: configuration applied", "changed", names, "started", report.Started, "stopped", report.Stopped,
			"replaced", report.Replaced, "notAllowed", report.NotAllowed, "kept", len(report.Kept))
	}
	return report, nil
}

// FileChanges returns changes for [Host.Follow]: it yields the paths of files that have
// changed, as they were given; first all of them, since they may have changed before.
// The files are looked at once a second, and told when they were left alone from one look
// to the next, or have changed for 20 seconds. Files need not exist: one that comes or
// goes has changed. Symbolic links are followed. What changes while the consumer is busy is
// told when it asks again. Each range looks on its own, in its own goroutine, and ends with
// its context.
func FileChanges(paths ...string) func(context.Context) iter.Seq[[]string] {
	return filewatch.Changes(paths, nil)
}
