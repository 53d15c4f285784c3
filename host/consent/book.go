package consent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// defaultInterval is how often [Book.Watch] looks when Interval is zero.
const defaultInterval = time.Second

// Options are the options of a [Book]. Nil and the zero value mean the defaults.
type Options struct {
	// Interval is how often Watch looks whether another process has decided.
	// Default: 1 s.
	Interval time.Duration
}

// A Book holds what was decided. Make one with [Open], [Load] or [New]. All methods
// are safe for concurrent use, also by several processes that share a file, and
// return soon after their context ends.
type Book struct {
	store    Store
	file     string // for errors; empty if it is none
	interval time.Duration

	mu       sync.Mutex // guards what follows; nothing slow happens under it
	revision string     // of records; empty: nothing is kept
	records  map[string]Record
	changed  chan struct{} // closed when this process has changed the book
}

// New returns a book that lives in memory only.
func New() *Book { return newBook(&memoryStore{}, nil) }

// Open returns the book that is kept in the file at path. The file is made, for its
// owner alone, when something is decided; a symbolic link is followed. One that is
// not sound fails with an [*Error], as does one that belongs to another user but root, or
// that others may write to or replace, where modes say so (on Windows they do not). A
// missing file has no decisions.
func Open(path string, opts *Options) (*Book, error) {
	b := newBook(&fileStore{path: path}, opts)
	b.file = path
	if _, err := b.refresh(context.Background()); err != nil {
		return nil, err
	}
	return b, nil
}

// Load is [Open] for another store.
func Load(ctx context.Context, store Store, opts *Options) (*Book, error) {
	b := newBook(store, opts)
	if _, err := b.refresh(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

func newBook(store Store, opts *Options) *Book {
	b := &Book{store: store, interval: defaultInterval, changed: make(chan struct{})}
	if opts != nil && opts.Interval > 0 {
		b.interval = opts.Interval
	}
	return b
}

// Verdict returns what counts for a launch now, also if another process decided it
// a moment ago. If that cannot be found out it is Pending, with an [*Error].
func (b *Book) Verdict(ctx context.Context, l *Launch) (Verdict, error) {
	if l == nil {
		return Pending, b.fail(errNoLaunch)
	}
	records, err := b.refresh(ctx)
	if err != nil {
		return Pending, err
	}
	if r, ok := records[l.Fingerprint()]; ok {
		return r.Verdict, nil
	}
	return Pending, nil
}

// Decide keeps a decision about a launch, Approved or Rejected, by the person of that
// name, and returns when it would survive a loss of power. It replaces an earlier
// decision about the launch.
func (b *Book) Decide(ctx context.Context, by string, l *Launch, v Verdict) error {
	if v != Approved && v != Rejected {
		return b.fail(fmt.Errorf("%q is no decision: it is approved or rejected; see Forget", v))
	}
	if err := checkBy(by); err != nil {
		return b.fail(err)
	}
	if l == nil {
		return b.fail(errNoLaunch)
	}
	r := Record{
		Fingerprint: l.Fingerprint(),
		Verdict:     v,
		By:          by,
		At:          time.Now().UTC().Truncate(time.Second),
		Project:     l.Project,
		Server:      l.Server,
		Title:       l.Title,
		Source:      l.Source,
		Target:      l.target(),
	}
	return b.commit(ctx, func(records map[string]Record) bool {
		records[r.Fingerprint] = r
		return true
	})
}

// Forget removes decisions by their fingerprints, so that the user is asked again.
// A missing decision is no error.
func (b *Book) Forget(ctx context.Context, fingerprints ...string) error {
	return b.commit(ctx, func(records map[string]Record) bool {
		before := len(records)
		for _, f := range fingerprints {
			delete(records, f)
		}
		return len(records) != before
	})
}

// Records returns all decisions, by project, server and time.
func (b *Book) Records(ctx context.Context) ([]Record, error) {
	records, err := b.refresh(ctx)
	return sorted(records), err
}

// Watch yields what [Book.Records] returns, now and after each change, until ctx ends.
// Decisions of this process are seen at once, those of others after Interval. A
// slow consumer sees the newest, not all. An error is yielded once; the next value
// ends it. Watch has no goroutine: it waits in that of the caller.
func (b *Book) Watch(ctx context.Context) iter.Seq2[[]Record, error] {
	return func(yield func([]Record, error) bool) {
		ticker := time.NewTicker(cmp.Or(b.interval, defaultInterval))
		defer ticker.Stop()
		for last := (*glance)(nil); ; {
			b.mu.Lock()
			changed := b.changed
			b.mu.Unlock()
			records, err := b.refresh(ctx)
			if ctx.Err() != nil {
				return
			}
			if now := (&glance{records, err}); !now.same(last) {
				if !yield(sorted(records), err) {
					return
				}
				last = now
			}
			select {
			case <-changed:
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// A glance is what Watch has seen.
type glance struct {
	records map[string]Record
	err     error
}

func (g *glance) same(last *glance) bool {
	if last == nil {
		return false
	}
	if g.err != nil || last.err != nil {
		return g.err != nil && last.err != nil && g.err.Error() == last.err.Error()
	}
	return maps.Equal(g.records, last.records)
}

// refresh returns what is kept now. The map must not be changed.
func (b *Book) refresh(ctx context.Context) (map[string]Record, error) {
	b.mu.Lock()
	known, records := b.revision, b.records
	b.mu.Unlock()
	records, _, err := b.load(ctx, known, records)
	return records, err
}

var (
	errNoStore  = errors.New("there is no store: make the book with New, Open, or Load and a store")
	errNoLaunch = errors.New("the launch is nil")
)

// load returns what is kept, with its revision, given what is known of it.
func (b *Book) load(ctx context.Context, known string, records map[string]Record) (map[string]Record, string, error) {
	if b.store == nil {
		return nil, "", b.fail(errNoStore)
	}
	data, revision, err := b.store.Load(ctx, known)
	if err != nil {
		return nil, "", b.fail(err)
	}
	if revision == known {
		return records, revision, nil
	}
	records = nil
	if revision != "" {
		list, err := parse(data)
		if err != nil {
			return nil, "", b.fail(err)
		}
		records = make(map[string]Record, len(list))
		for _, r := range list {
			records[r.Fingerprint] = r
		}
	}
	b.become(records, revision)
	return records, revision, nil
}

func (b *Book) become(records map[string]Record, revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records, b.revision = records, revision
}

// maxTries bounds how often another process may have been faster. That many conflicts
// in a row are the fault of a store that breaks its contract.
const maxTries = 1000

// commit changes what is kept, again if another process was faster.
func (b *Book) commit(ctx context.Context, edit func(map[string]Record) bool) error {
	b.mu.Lock()
	known, records := b.revision, b.records
	b.mu.Unlock()
	for try := 1; ; try++ {
		var err error
		if records, known, err = b.load(ctx, known, records); err != nil {
			return err
		}
		next := maps.Clone(records)
		if next == nil {
			next = map[string]Record{}
		}
		if !edit(next) {
			return nil
		}
		data, err := render(sorted(next))
		if err != nil {
			return b.fail(err)
		}
		revision, err := b.store.Save(ctx, data, known)
		switch {
		case err == nil:
			b.become(next, revision)
			b.tell()
			return nil
		case !errors.Is(err, ErrConflict) || try == maxTries:
			return b.fail(err)
		}
	}
}

// tell wakes all calls of Watch.
func (b *Book) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Book) fail(err error) error { return &Error{b.file, err} }

func sorted(records map[string]Record) []Record {
	list := slices.Collect(maps.Values(records))
	slices.SortFunc(list, func(x, y Record) int {
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.Server, y.Server),
			x.At.Compare(y.At), cmp.Compare(x.Fingerprint, y.Fingerprint))
	})
	return list
}
