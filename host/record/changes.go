package record

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/filewatch"
)

// pollStore is how often the records of a store are read that cannot tell of changes.
const pollStore = 3 * time.Second

// Changes returns changes of a store for [host.Host.Follow]: it yields a name for the log at
// first and whenever the records have changed, by whichever process. It tells of those of [NewStore] as soon as
// the storage.Store does, if that is a storage.Watcher, of those of a file as host.FileChanges
// does, and else within 3 seconds.
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
	list := func(ctx context.Context) (map[string]string, error) {
		all, err := recordsOf(ctx, store)
		if err != nil {
			return nil, ctx.Err() // it cannot be read now
		}
		var revisions strings.Builder
		for _, s := range all {
			revisions.WriteString(s.ID + "\x00" + string(s.Revision) + "\x00")
		}
		return map[string]string{StoreFile: revisions.String()}, nil
	}
	return func(ctx context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) {
			for _, err := range feed.Changes(ctx, list, func(ctx context.Context) error { return feed.Sleep(ctx, pollStore) }) {
				if err != nil || !yield(name) {
					return
				}
			}
		}
	}
}
