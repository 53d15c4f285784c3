package consent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

const maxFile = 64 << 20 // bytes

// A Book holds what was decided. Make one with [Open], [Load] or [New]. All methods
// are safe for concurrent use, also by several processes that share a file or a store, and
// return soon after their context ends.
type Book struct {
	kept *document.Value[map[string]Record] // by fingerprint; nil: the zero Book
	file string                             // for errors; empty if it is none
}

// New returns a book that lives in memory only.
func New() *Book { return newBook(storage.NewMemory(), "consents") }

// Open returns the book that is kept in the file at path. The file is made, for its
// owner alone, when something is decided; a symbolic link is followed. One that is
// not sound fails with an [*Error], as does one that belongs to another user but root, or
// that others may write to or replace, where modes say so (on Windows they do not). A
// missing file has no decisions.
func Open(path string) (*Book, error) {
	b := newBook(&document.File{Path: path, Most: maxFile, Check: ownfile.Check(path, ownfile.Own)}, "")
	b.file = path
	return b.opened(context.Background())
}

// Load returns the book that is kept in a store under a name, see [storage.CheckName], such
// as "consents". One that is not sound fails with an [*Error].
func Load(ctx context.Context, store storage.Store, name string) (*Book, error) {
	return newBook(store, name).opened(ctx)
}

func newBook(keeper document.Keeper, name string) *Book {
	return &Book{kept: document.New(keeper, name, parse, func(records map[string]Record) ([]byte, error) { return render(sorted(records)) })}
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
	return records, b.fail(err)
}

// commit changes what is kept, again if another process was faster.
func (b *Book) commit(ctx context.Context, edit func(map[string]Record) bool) error {
	if b.kept == nil {
		return b.fail(errNoStore)
	}
	return b.fail(b.kept.Change(ctx, func(now map[string]Record) (map[string]Record, bool, error) {
		next := map[string]Record{}
		maps.Copy(next, now)
		return next, edit(next), nil
	}))
}

func (b *Book) fail(err error) error {
	if err == nil {
		return nil
	}
	return &Error{b.file, err}
}

func sorted(records map[string]Record) []Record {
	list := slices.Collect(maps.Values(records))
	slices.SortFunc(list, func(x, y Record) int {
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.Server, y.Server),
			x.At.Compare(y.At), cmp.Compare(x.Fingerprint, y.Fingerprint))
	})
	return list
}
