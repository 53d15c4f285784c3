// Package filewatch tells when files have changed.
package filewatch

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// interval is how often files are looked at.
	interval = time.Second
	// patience is how often in a row a file may be found changed before it is told.
	patience = 20
)

// Changes returns a function that yields the paths of files that have changed, as they were
// given: first those that differ from what was seen of them, see [Look], or all if seen is
// nil. The files are looked at once a second, and told when they were left alone from one
// look to the next, or have changed for 20 seconds. Files need not exist: one that comes or
// goes has changed. Symbolic links are followed. Changes while the consumer is busy are
// told when it asks again. Each range looks on its own, in its own goroutine, and ends
// with its context.
func Changes(paths []string, seen []os.FileInfo) func(context.Context) iter.Seq[[]string] {
	paths = slices.Clone(paths)
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
			w := watch{paths: paths, absolute: absolute, seen: slices.Clone(seen), changed: make([]bool, len(paths))}
			if seen == nil {
				w.seen = make([]os.FileInfo, len(paths))
				w.look()
				w.forget()
				if !yield(slices.Clone(paths)) {
					return
				}
			}
			ticks := time.NewTicker(interval)
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

// A watch is one range over changes of files. It belongs to one goroutine.
type watch struct {
	paths, absolute []string
	seen            []os.FileInfo // at the last look
	changed         []bool        // since the last yield
	restless        int           // how many looks in a row have found a change
}

// look looks at all files, and reports whether one is another than at the last look.
func (w *watch) look() (different bool) {
	for i, path := range w.absolute {
		if now := Look(path); !isSame(w.seen[i], now) {
			w.seen[i], w.changed[i], different = now, true, true
		}
	}
	return different
}

// due looks at the files, and returns those to tell of.
func (w *watch) due() []string {
	if w.look() {
		if w.restless++; w.restless < patience {
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
func (w *watch) forget() {
	w.restless = 0
	clear(w.changed)
}

// Look returns what can be seen of a file from outside; nil if that is nothing.
func Look(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// isSame reports whether two looks have seen the same content, as far as that can be
// told.
func isSame(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
