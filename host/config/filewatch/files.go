package filewatch

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// DefaultQuiet is how long files must be left alone when Quiet is zero.
	DefaultQuiet = 200 * time.Millisecond
	// DefaultPoll is how often files are looked at when Poll is zero.
	DefaultPoll = 5 * time.Second

	// maxUnquiet is after how many times Quiet a file that is written again and
	// again is read all the same.
	maxUnquiet = 20
)

// Options configure [Files]. The zero value, and nil, mean the defaults.
type Options struct {
	// Quiet is how long files must be left alone before a change is told. A change
	// is told after 20 times that in any case. Default: 200 ms.
	Quiet time.Duration
	// Poll is how often files are looked at besides what the operating system tells.
	// Default: 5 s. Negative: never.
	Poll time.Duration
	// PollOnly does without what the operating system tells. Poll must not be
	// negative then.
	PollOnly bool
	// Logger is told what cannot be watched. Default: nobody is.
	Logger *slog.Logger
}

// Files returns what yields the paths of files that have changed, as they were
// given: first all of them as soon as they are watched, since they may have changed
// before, and then those that have changed since the last yield. Files that change
// together are told together. Files need not exist.
//
// Nothing is lost on a slow consumer: what changes while it is busy is told when it
// asks again. The sequence ends when ctx ends. Each may be ranged over once or
// several times, also at once; each range watches on its own, in the goroutine of
// the range and one of the operating system's notifications, which has ended when
// the range has.
func Files(paths []string, opts *Options) func(ctx context.Context) iter.Seq[[]string] {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Quiet <= 0 {
		o.Quiet = DefaultQuiet
	}
	if o.Poll == 0 || o.PollOnly && o.Poll < 0 {
		o.Poll = DefaultPoll
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	given := slices.Clone(paths)
	absolute := make([]string, len(given))
	for i, path := range given {
		absolute[i] = path
		if abs, err := filepath.Abs(path); err == nil {
			absolute[i] = abs // as of now: the program may change its folder
		}
	}
	return func(ctx context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) {
			w := &watch{opts: o, paths: absolute, contents: make([]content, len(absolute)), unsure: make([]bool, len(absolute))}
			w.run(ctx, func(changed []int) bool {
				names := make([]string, len(changed))
				for i, at := range changed {
					names[i] = given[at]
				}
				return yield(names)
			})
		}
	}
}

// A watch is one range over files. It belongs to one goroutine.
type watch struct {
	opts     Options
	paths    []string  // absolute
	contents []content // of what was told last, by path
	unsure   []bool    // by path: the consumer may have read something else

	notifier *fsnotify.Watcher // nil: there is none
	folders  map[string]folder // that the notifier watches
	refused  map[string]bool   // folders that it could not
	names    map[string]bool   // what an event must be about to be of interest
	tick     <-chan time.Time  // nil: never
}

// run yields the indices of files that have changed.
func (w *watch) run(ctx context.Context, yield func([]int) bool) {
	if ctx.Err() != nil {
		return
	}
	if !w.opts.PollOnly {
		w.notify()
	}
	if w.notifier != nil {
		defer func() { _ = w.notifier.Close() }()
	}
	if w.opts.Poll > 0 {
		ticker := time.NewTicker(w.opts.Poll)
		defer ticker.Stop()
		w.tick = ticker.C
	}
	w.cover()
	changed := make([]int, len(w.paths))
	for i, path := range w.paths {
		changed[i] = i
		w.contents[i] = contentOf(path)
	}
	for {
		if len(changed) > 0 {
			if !yield(changed) {
				return
			}
			w.doubt()
		}
		if !w.anyUnsure() && !w.await(ctx) || !w.settle(ctx) {
			return
		}
		w.cover()
		changed = w.compare()
	}
}

// notify asks the operating system for notifications.
func (w *watch) notify() {
	notifier, err := fsnotify.NewWatcher()
	if err != nil {
		w.opts.Logger.Warn("filewatch: the system does not tell of changes; files are looked at now and then", "every", w.opts.Poll, "error", err)
		return
	}
	w.notifier = notifier
	w.folders, w.refused = map[string]folder{}, map[string]bool{}
}

// await waits until something may have changed. It reports false when ctx ended.
func (w *watch) await(ctx context.Context) bool {
	for {
		select {
		case e, ok := <-w.events():
			if !ok || w.names[filepath.Clean(e.Name)] {
				return true
			}
		case err := <-w.errors():
			w.opts.Logger.Debug("filewatch: events may have been lost", "error", err)
			return true
		case <-w.tick:
			if w.differs() {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// settle waits until the files are left alone. It reports false when ctx ended.
func (w *watch) settle(ctx context.Context) bool {
	latest := time.NewTimer(maxUnquiet * w.opts.Quiet)
	defer latest.Stop()
	seen := w.sizes()
	quiet := time.NewTimer(w.opts.Quiet)
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-w.events():
			if ok && w.names[filepath.Clean(e.Name)] {
				quiet.Reset(w.opts.Quiet)
			}
		case <-w.errors():
		case <-quiet.C:
			now := w.sizes()
			if slices.Equal(seen, now) {
				return true
			}
			seen = now
			quiet.Reset(w.opts.Quiet)
		case <-latest.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (w *watch) events() <-chan fsnotify.Event {
	if w.notifier == nil {
		return nil
	}
	return w.notifier.Events
}

func (w *watch) errors() <-chan error {
	if w.notifier == nil {
		return nil
	}
	return w.notifier.Errors
}
