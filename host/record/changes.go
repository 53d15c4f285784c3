package record

import (
	"context"
	"iter"

	"github.com/mcpbelt/mcpbelt/internal/filewatch"
)

// Changes returns changes of a store for [host.Host.Follow]: it yields a name for the log at
// first and whenever the records have changed, by whichever process. It tells of those of [NewStore] as soon as
// the storage.Store does, if that is a storage.Watcher, and of those of a file as host.FileChanges
// does. Of another Store it tells nothing but the name at first.
//
// [host.Host.Follow]: https://pkg.go.dev/github.com/mcpbelt/mcpbelt/host#Host.Follow
func Changes(store Store) func(context.Context) iter.Seq[[]string] {
	name := []string{StoreFile}
	switch s := store.(type) {
	case *keptStore:
		return func(ctx context.Context) iter.Seq[[]string] {
			return func(yield func([]string) bool) {
				for range s.kept.Watch(ctx) {
					if !yield(name) {
						return
					}
				}
			}
		}
	case interface{ Path() string }:
		return filewatch.Changes([]string{s.Path()}, nil)
	}
	return func(ctx context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) {
			if store != nil && ctx.Err() == nil {
				yield(name)
			}
		}
	}
}
