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

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/storage"
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
// are safe for concurrent use, also by several processes that share a file or a store, and
// return soon after their context ends.
type Book struct {
	kept     *document.Value[map[string]Record] // by fingerprint; nil: the zero Book
	file     string                             // for errors; empty if it is none
	interval time.Duration

	mu      sync.Mutex    // guards what follows
	changed chan struct{} // closed when this process has changed the book
}

// New returns a book that lives in memory only.
func New() *Book { return newBook(storage.NewMemory(), "consents", nil) }

// Open returns the book that is kept in the file at path. The file is made, for its
// owner alone, when something is decided; a symbolic link is followed. One that is
// not sound fails with an [*Error], as does one that belongs to another user but root, or
// that others may write to or replace, where modes say so (on Windows they do not). A
// missing file has no decisions.
func Open(path string, opts *Options) (*Book, error) {
	b := newBook(newFile(path), "", opts)
	b.file = path
	return b.opened(context.Background())
}

// Load returns the book that is kept in a store under a name, see [storage.CheckName], such
// as "consents". One that is not sound fails with an [*Error].
func Load(ctx context.Context, store storage.Store, name string, opts *Options) (*Book, error) {
	return newBook(store, name, opts).opened(ctx)
}

func newBook(keeper document.Keeper, name string, opts *Options) *Book {
	b := &Book{interval: defaultInterval, changed: make(chan struct{})}
	b.kept = document.New(keeper, name, parse, func(records map[string]Record) ([]byte, error) { return render(sorted(records)) })
	if opts != nil && opts.Interval > 0 {
		b.interval = opts.Interval
	}
	return b
}

func (b *Book) opened(ctx context.Context) (*Book, error) {
	if _, err := b.refresh(ctx); err != nil {
		return nil, err
	}
	return b, nil
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

var (
	errNoStore  = errors.New("there is no store: make the book with New, Open, or Load and a store")
	errNoLaunch = errors.New("the launch is nil")
)

// refresh returns what is kept now. The map must not be changed.
func (b *Book) refresh(ctx context.Context) (map[string]Record, error) {
	if b.kept == nil {
		return nil, b.fail(errNoStore)
	}
	records, err := b.kept.Load(ctx)
	if err != nil {
		return nil, b.fail(err)
	}
	return records, nil
}

// commit changes what is kept, again if another process was faster.
func (b *Book) commit(ctx context.Context, edit func(map[string]Record) bool) error {
	if b.kept == nil {
		return b.fail(errNoStore)
	}
	edited := false
	err := b.kept.Change(ctx, func(now map[string]Record) (map[string]Record, bool, error) {
		next := maps.Clone(now)
		if next == nil {
			next = map[string]Record{}
		}
		edited = edit(next)
		return next, edited, nil
	})
	if err != nil {
		return b.fail(err)
	}
	if edited {
		b.tell()
	}
	return nil
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
