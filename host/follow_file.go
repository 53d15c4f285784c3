package host

import (
	"context"
	"iter"
	"os"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// followPoll is how often a config file is looked at that Options.Follow is about.
const followPoll = time.Second

// followFile applies the config file at path again when it has changed since it was seen,
// in a goroutine of the host.
func (h *Host) followFile(path string, seen os.FileInfo) {
	leave, err := h.visit()
	if err != nil {
		return // it is closed already
	}
	load := func(ctx context.Context) (*config.Config, error) {
		return config.Load(ctx, path, h.opts.Config)
	}
	go func() {
		defer leave()
		_ = h.Follow(h.intake, fileChanges(path, seen), load, nil) // until the host is closed
	}()
}

// fileChanges returns what yields the path of a file whenever it differs from what was
// seen and yielded before, and has been left alone for the time between two looks.
func fileChanges(path string, seen os.FileInfo) func(context.Context) iter.Seq[[]string] {
	return func(ctx context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) {
			looks := time.NewTicker(followPoll)
			defer looks.Stop()
			changed := false
			for {
				select {
				case <-looks.C:
				case <-ctx.Done():
					return
				}
				now := lookAt(path)
				switch {
				case !sameFile(seen, now):
					seen, changed = now, true
				case changed:
					changed = false
					if !yield([]string{path}) {
						return
					}
				}
			}
		}
	}
}

// lookAt returns what can be seen of a file from outside; nil if that is nothing.
func lookAt(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// sameFile reports whether two looks have seen the same content, as far as that can be
// told.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
