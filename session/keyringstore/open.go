package keyringstore

import (
	"context"
	"log/slog"

	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// DefaultService is what the entry in the keyring is called unless [Options] say
// otherwise.
const DefaultService = "mcpbelt"

// Options are for [Open]. The zero value is fine.
type Options struct {
	// Service is what the entry in the keyring is called, usually like the
	// program. Empty means DefaultService.
	Service string
	// Logger is that of filestore.Options.
	Logger *slog.Logger
}

// Open opens the store in the folder dir, which it makes if there is none, with a
// key from the keyring, where it puts one if there is none. Errors are as those of
// filestore.Open; without a keyring it is a *seal.KeyError.
func Open(ctx context.Context, dir string, opts *Options) (*seal.Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Service == "" {
		o.Service = DefaultService
	}
	return filestore.Open(ctx, dir, &filestore.Options{Keys: Key(o.Service), Logger: o.Logger})
}
