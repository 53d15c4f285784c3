package host

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
)

const (
	// followPoll is how often config files are looked at that a host follows.
	followPoll = time.Second
	// followPatience is how often a file may be found changed before it is read, though it
	// is not left alone.
	followPatience = 20
)

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
		_ = h.Follow(h.intake, fileChanges([]string{path}, []os.FileInfo{seen}), load, nil) // until the host is closed
	}()
}

// FileChanges returns changes for [Host.Follow]: it yields the paths of files that have
// changed, as they were given; first all of them, since they may have changed before.
// The files are looked at once a second, and told when they were left alone from one look
// to the next, or have changed for 20 seconds. Files need not exist: one that comes or
// goes has changed. Symbolic links are followed. What changes while the consumer is busy is
// told when it asks again. Each range looks on its own, in its own goroutine, and ends with
// its context.
func FileChanges(paths ...string) func(context.Context) iter.Seq[[]string] {
	return fileChanges(slices.Clone(paths), nil)
}

// fileChanges is [FileChanges], but for files that were seen already those that differ
// from that.
func fileChanges(paths []string, seen []os.FileInfo) func(context.Context) iter.Seq[[]string] {
	absolute := make([]string, len(paths))
	for i, path := range paths {
		absolute[i] = path
		if abs, err := filepath.Abs(path); err == nil {
			absolute[i] = abs // as of now: the program may change its folder
		}
	}
	return func(ctx context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) {
			if len(paths) == 0 || ctx.Err() != nil {
				return
			}
			w := fileWatch{paths: paths, absolute: absolute, seen: slices.Clone(seen), changed: make([]bool, len(paths))}
			if seen == nil {
				w.seen = make([]os.FileInfo, len(paths))
				w.look()
				w.forget()
				if !yield(slices.Clone(paths)) {
					return
				}
			}
			ticks := time.NewTicker(followPoll)
			defer ticks.Stop()
			for {
				select {
				case <-ticks.C:
				case <-ctx.Done():
					return
				}
				if changed := w.due(); len(changed) > 0 && !yield(changed) {
					return
				}
			}
		}
	}
}

// A fileWatch is one range over changes of files. It belongs to one goroutine.
type fileWatch struct {
	paths, absolute []string
	seen            []os.FileInfo // at the last look
	changed         []bool        // since the last yield
	restless        int           // how many looks in a row have found a change
}

// look looks at all files, and reports whether one is another than at the last look.
func (w *fileWatch) look() (different bool) {
	for i, path := range w.absolute {
		if now := lookAt(path); !sameFile(w.seen[i], now) {
			w.seen[i], w.changed[i], different = now, true, true
		}
	}
	return different
}

// due looks at the files, and returns those to tell of.
func (w *fileWatch) due() []string {
	if w.look() {
		if w.restless++; w.restless < followPatience {
			return nil
		}
	}
	var list []string
	for i, changed := range w.changed {
		if changed {
			list = append(list, w.paths[i])
		}
	}
	w.forget()
	return list
}

// forget notes that all changes were told.
func (w *fileWatch) forget() {
	w.restless = 0
	clear(w.changed)
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
