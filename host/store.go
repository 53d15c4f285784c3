package host

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/registry"
)

// OpenStore is [Open] for the records of a store: it returns a host that runs them, and
// that [Host.AddServer], [Host.UpdateServer] and [Host.RemoveServer] change together
// with the store. The store stays open when the host is closed.
func OpenStore(ctx context.Context, store config.Store, opts *Options) (*Host, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Store = store
	c, err := config.ReadStore(ctx, store, o.Config)
	if err != nil {
		return nil, err
	}
	return open(ctx, c, o)
}

// open returns a host that runs the servers of c.
func open(ctx context.Context, c *config.Config, o Options) (*Host, error) {
	if o.Registry == nil && o.Ledger != "" {
		ledger, err := registry.OpenLedger(o.Ledger, nil)
		if err != nil {
			return nil, err
		}
		o.Registry = registry.New(&registry.Options{Ledger: ledger})
	}
	// What is no file has no name of its own to keep statuses by.
	named := c.Path != "" && c.Path != config.StoreFile
	if dir := stateFolder(o.StateDir); o.Statuses == nil && named && dir != "" {
		o.Statuses = config.OpenStatusFile(filepath.Join(dir, "status", statusName(c.Path)))
	}
	h := New(&o)
	if _, err := h.Apply(ctx, c); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}
