package manage

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
)

// Options configure a [Manager]. The zero value, and nil, mean the defaults.
type Options struct {
	// Host holds the options of the host that [Open] and [OpenStore] make. [New] uses
	// its Config, with which records are read, and its Client.Logger.
	Host host.Options
	// Statuses keeps what became of the servers, for the next run. It is told of changes
	// in the background, some of them at a time. Default: for Open, and for OpenStore
	// with the store of a file, a file in Host.StateDir; else nothing is kept.
	Statuses record.StatusStore
}

// A Manager changes the servers of a host together with the store that keeps their
// records. Make one with [Open], [OpenStore] or [New]. Its methods are safe for concurrent
// use; they change the store one after the other, and wait for each other's servers only where
// they change the same one.
type Manager struct {
	host    *host.Host
	store   record.Store
	config  *config.Options
	keeper  *keeper // nil if no status is kept
	history history
}

// errZero is the error of the zero Manager.
var errZero = errors.New("manage: the zero Manager is not usable: make it with New, Open or OpenStore")

// Open opens a host as [host.Open] does, and manages the servers of its config file. Unless
// Options.Host.StateDir says otherwise, the IDs of records and what was removed, with its
// secrets, are kept there.
func Open(ctx context.Context, path string, opts *Options) (*Manager, error) {
	o := *cmp.Or(opts, new(Options))
	h, err := host.Open(ctx, path, &o.Host)
	if err != nil {
		return nil, err
	}
	store := edit.OpenFileStore(path, o.Host.Config)
	if dir := statedir.Folder(o.Host.StateDir); dir != "" {
		store = edit.OpenKeptFileStore(path, filepath.Join(dir, "records", statedir.Name(path)), o.Host.Config)
	}
	return newManager(h, store, o, path), nil
}

// OpenStore opens a host that runs the servers of the records in a store, as [host.Open] does
// those of a file, and manages them. With Options.Host.Follow it applies the records again when
// they have changed, see [record.Changes]. The store stays open when the manager is closed.
func OpenStore(ctx context.Context, store record.Store, opts *Options) (*Manager, error) {
	o := *cmp.Or(opts, new(Options))
	load := func(ctx context.Context) (*config.Config, error) { return record.Read(ctx, store, o.Host.Config) }
	h, err := host.OpenConfig(ctx, load, record.Changes(store), &o.Host)
	if err != nil {
		return nil, err
	}
	path := pathOf(store)
	if path == record.StoreFile { // what is no file has no name of its own to keep statuses by
		path = ""
	}
	return newManager(h, store, o, path), nil
}

// New returns a manager of the records in a store whose servers run in h, if any do yet. It
// starts none. The host is closed with the manager, and the store is not.
func New(h *host.Host, store record.Store, opts *Options) *Manager {
	return newManager(h, store, *cmp.Or(opts, new(Options)), "")
}

// newManager returns a manager that keeps statuses by default if its records are in a file
// at path.
func newManager(h *host.Host, store record.Store, o Options, path string) *Manager {
	m := &Manager{host: h, store: store, config: o.Host.Config}
	if dir := statedir.Folder(o.Host.StateDir); o.Statuses == nil && path != "" && dir != "" {
		o.Statuses = record.OpenStatusFile(filepath.Join(dir, "status", statedir.Name(path)))
	}
	if o.Statuses != nil && m.made() == nil {
		m.keeper = newKeeper(m, o.Statuses, o.Host.Client.Logger)
	}
	return m
}

// pathOf returns where the records of a store are, as their entries say.
func pathOf(store record.Store) string {
	if file, ok := store.(interface{ Path() string }); ok {
		return file.Path()
	}
	return record.StoreFile
}

// made returns what is wrong with a manager that was not made as it has to be, or nil.
func (m *Manager) made() error {
	switch {
	case m == nil || m.host == nil:
		return errZero
	case m.host.Registry() == nil:
		return errors.New("manage: the zero Host is not usable: make it with host.New or host.Open")
	case m.store == nil:
		return errors.New("manage: the store is nil")
	}
	return nil
}

// open returns what keeps the manager from changing anything, or nil.
func (m *Manager) open() error {
	if err := m.made(); err != nil {
		return err
	}
	if _, err := m.host.Inspect(""); errors.Is(err, host.ErrClosed) {
		return host.ErrClosed
	}
	return nil
}

// Host returns the host that runs the servers.
func (m *Manager) Host() *host.Host { return m.host }

// Close keeps how the servers stand, and closes the host, see [host.Host.Close]. To let calls
// under way finish, call [host.Host.Shutdown] before. Close waits up to a few seconds for the
// store of statuses. Later calls do nothing.
func (m *Manager) Close() error {
	if m == nil || m.host == nil {
		return nil // there is nothing to close
	}
	m.keeper.close() // before any server ends
	return m.host.Close()
}

// readOptions returns the options by which a record is read once more: they say its scope
// before a secret of it is asked for. The names are those that it has and had.
func (m *Manager) readOptions(names ...string) *config.Options {
	o := *cmp.Or(m.config, new(config.Options))
	file := pathOf(m.store)
	for _, name := range names {
		if known := m.host.KnownScope(file, name); known != "" && !o.Scope.NeedsApproval() {
			o.Scope = known
		}
	}
	return &o
}
