package edit

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A fileStore is a [record.Store] over a config file.
type fileStore struct {
	path  string
	opts  config.Options
	key   []byte                   // of revisions, which must not tell short secrets
	past  *document.Value[history] // written while the file is locked
	where string                   // of past, for errors
}

// OpenFileStore returns the store over the file at path, which need not exist: the
// first record that is saved makes it, readable for its owner alone. Options say what
// format it has and how values are read; the defaults are those of [config.Load], and for a new
// file the format of its name or extension, or else mcpServers. With [config.ScopeLocal] it is the
// section for Options.Project that is read and changed, and made if need be. Nothing is
// read yet.
//
// An edit of the file meanwhile, by hand or by another program, is not lost: a save writes one
// entry, in the file as it is at that moment, and comments, order and keys that are not
// known stay. IDs, times and deleted records, which the file does not hold, last as long as the
// store does, see [OpenKeptFileStore]. Revisions are those of one store: another one, of the same
// file too, has others.
func OpenFileStore(path string, opts *config.Options) record.Store {
	return openFileStore(path, opts, storage.NewMemory(), "in memory")
}

// OpenKeptFileStore is [OpenFileStore], and has the store keep IDs, times and deleted records, with
// their secrets, in the file at history, which is made for its owner alone. Two stores over one
// config file have to keep them in the same file. A file that others may write to is an error of
// the store, where modes say so.
func OpenKeptFileStore(path, history string, opts *config.Options) record.Store {
	return openFileStore(path, opts, &document.File{Path: history, Most: maxHistory, Check: ownfile.Check(history, ownfile.Own)}, history)
}

func openFileStore(path string, opts *config.Options, past document.Keeper, where string) *fileStore {
	f := &fileStore{path: path, key: make([]byte, sha256.Size), opts: *cmp.Or(opts, new(config.Options))}
	f.past, f.where = document.New(past, "history", decodeHistory, history.encode), where
	_, _ = rand.Read(f.key) // never fails
	return f
}

// Path returns the path of the file.
func (f *fileStore) Path() string { return f.path }

// Config returns what Records does, as servers: it is [config.Load], with the places in the file. A
// file that does not exist, is empty or has no place for servers has none. If opts leaves out Format, Formats or Project
// they are as the store was told; of the two scopes the one that trusts less
// counts.
func (f *fileStore) Config(ctx context.Context, opts *config.Options) (*config.Config, error) {
	o := f.opts
	if opts != nil {
		o = *opts
		o.Format, o.Project = cmp.Or(o.Format, f.opts.Format), cmp.Or(o.Project, f.opts.Project)
		if o.Formats == nil {
			o.Formats = f.opts.Formats
		}
		o.Scope = f.opts.Scope.Stricter(o.Scope)
	}
	return f.load(ctx, o)
}

func (f *fileStore) load(ctx context.Context, o config.Options) (*config.Config, error) {
	c, err := config.Load(ctx, f.path, &o)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*config.NoServersError)) {
		return &config.Config{Path: f.path, Format: o.Format}, nil
	}
	return c, err
}

// Records implements [record.Store].
func (f *fileStore) Records(ctx context.Context) ([]record.Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := f.opts
	o.AsWritten = true
	c, err := f.load(ctx, o)
	if err != nil {
		return nil, err
	}
	past, _ := f.history(ctx) // the servers matter more; a change fails
	return past.identify(f.stored(&content{servers: c.Servers})), nil
}

// stored returns what a file says as records with revisions.
func (f *fileStore) stored(said *content) []record.Stored {
	records := said.records()
	all := make([]record.Stored, len(records))
	for i, r := range records {
		mac := hmac.New(sha256.New, f.key)
		mac.Write([]byte(r.Hash()))
		all[i] = record.Stored{Record: r, Revision: record.Revision(hex.EncodeToString(mac.Sum(nil)[:16]))}
	}
	return all
}

// Save implements [record.Store].
func (f *fileStore) Save(ctx context.Context, name string, r *config.Server, old record.Revision) (record.Revision, error) {
	r = record.Of(r)
	entry, err := r.Entry()
	if err != nil {
		return "", err
	}
	var saved record.Revision
	err = f.change(ctx, false, func(d *draft, all []record.Stored) error {
		if _, err := record.PlaceOf(all, name, r.Title, old); err != nil {
			return err
		}
		if err := d.put(name, r.Title, entry); err != nil {
			return err
		}
		said, err := d.content()
		if err != nil {
			return err
		}
		after := f.stored(said)
		at := slices.IndexFunc(after, func(s record.Stored) bool { return s.Record.Title == r.Title }) // which put has checked
		saved = after[at].Revision
		return nil
	}, func(past *history, all []record.Stored) error {
		past.saved(all, name, r.Title)
		return nil
	})
	if err != nil {
		return "", err
	}
	return saved, nil
}

// Delete implements [record.Store].
func (f *fileStore) Delete(ctx context.Context, name string, old record.Revision) error {
	var at int
	return f.change(ctx, true, func(d *draft, all []record.Stored) (err error) {
		if at, err = record.PlaceOf(all, name, name, old); err == nil && at < 0 {
			err = &record.Error{Code: record.CodeNotFound, Name: name}
		}
		if err != nil {
			return err
		}
		return d.remove(name)
	}, func(past *history, all []record.Stored) error { return past.removed(all, all[at]) })
}

// Deleted implements [record.Store]. The last 100 are kept.
func (f *fileStore) Deleted(ctx context.Context) ([]record.Stored, error) {
	all, err := f.Records(ctx)
	if err != nil {
		return nil, err
	}
	past, err := f.history(ctx)
	if err != nil {
		return nil, err
	}
	return past.gone(all)
}

// Restore implements [record.Store]. The record comes last in the file.
func (f *fileStore) Restore(ctx context.Context, id string) error {
	var r *config.Server
	return f.change(ctx, false, func(d *draft, all []record.Stored) error {
		past, err := f.history(ctx)
		if err != nil {
			return err
		}
		gone, err := past.gone(past.identify(all))
		if err != nil {
			return err
		}
		at := slices.IndexFunc(gone, func(s record.Stored) bool { return s.ID == id })
		if at < 0 {
			return &record.Error{Code: record.CodeNotFound, Name: id}
		}
		r = gone[at].Record
		if _, err := record.PlaceOf(all, "", r.Title, ""); err != nil {
			return err
		}
		entry, err := r.Entry()
		if err != nil {
			return err
		}
		return d.put("", r.Title, entry)
	}, func(past *history, all []record.Stored) error {
		past.restored(all, id, r.Title)
		return nil
	})
}

// change changes the file as replaceFile does; all are the records that stand in it. While no
// other program of this library changes it, note notes that in the history: before the file
// is replaced if that removes what must not be lost.
func (f *fileStore) change(ctx context.Context, removes bool, change func(d *draft, all []record.Stored) error, note func(past *history, all []record.Stored) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var all []record.Stored
	keep := func() error {
		return f.failHistory(f.past.Change(ctx, func(past history) (history, bool, error) {
			err := note(&past, past.identify(all))
			return past, true, err
		}))
	}
	around := &locked{before: func() error {
		_, err := f.history(ctx) // else nothing could be noted
		return err
	}, after: keep}
	if removes {
		around = &locked{before: keep, after: func() error { return nil }}
	}
	return replaceFile(ctx, f.path, &f.opts, func(d *draft) (err error) {
		said, err := d.content()
		if err != nil {
			return err
		}
		all = f.stored(said)
		return change(d, all)
	}, around)
}
