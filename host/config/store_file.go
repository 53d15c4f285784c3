package config

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A FileStore is a [Store] over a config file, in any format that is read. Who edits
// the file meanwhile, by hand or by another program, loses nothing: what is saved is one
// entry, in the file as it is at that moment, and comments, order and keys that are not
// known stay. It is a [Configurer], and an [Archive] of what is changed through it, see
// [FileStore.Keep].
//
// Revisions are those of one FileStore: another one, of the same file too, has others.
type FileStore struct {
	path string
	opts Options
	key  []byte // of revisions, which must not tell short secrets
	past pastFile
}

// OpenFileStore returns the store over the file at path, which need not exist: the
// first record that is saved makes it, readable for its owner alone. Options say what
// format it has and how values are read; the defaults are those of [Load]. Nothing is
// read yet.
func OpenFileStore(path string, opts *Options) *FileStore {
	f := &FileStore{path: path, key: make([]byte, sha256.Size)}
	_, _ = rand.Read(f.key) // never fails
	if opts != nil {
		f.opts = *opts
	}
	return f
}

// Path returns the path of the file.
func (f *FileStore) Path() string { return f.path }

// Config implements [Configurer]: it is [LoadContext], with the places in the file. A
// file that does not exist has no servers. What opts leaves out of Format, Formats and
// Project is as [OpenFileStore] was told; of the two scopes the one that trusts less
// counts.
func (f *FileStore) Config(ctx context.Context, opts *Options) (*Config, error) {
	o := f.opts
	if opts != nil {
		o = *opts
		o.Format, o.Project = cmp.Or(o.Format, f.opts.Format), cmp.Or(o.Project, f.opts.Project)
		if o.Formats == nil {
			o.Formats = f.opts.Formats
		}
		o.Scope = f.opts.Scope.Stricter(o.Scope)
	}
	c, err := LoadContext(ctx, f.path, &o)
	if errors.Is(err, fs.ErrNotExist) {
		return &Config{Path: f.path, Format: o.Format}, nil
	}
	return c, err
}

// Records implements [Store].
func (f *FileStore) Records(ctx context.Context) ([]Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, data, err := f.read()
	if err != nil {
		return nil, err
	}
	all, err := f.parse(ctx, data)
	if err != nil {
		return nil, err
	}
	past, err := f.past.read()
	if err != nil {
		past = &history{} // the servers matter more; a change fails
	}
	return past.identify(all), nil
}

// read returns where the file is and what is in it, nil if it is not there.
func (f *FileStore) read() (path string, data []byte, err error) {
	path, err = atomicfile.Resolve(f.path)
	if err == nil {
		data, _, err = atomicfile.Read(path, jsonc.MaxSize)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err != nil {
		return "", nil, &Error{File: f.path, Err: fmt.Errorf("cannot read the config file: %w", err)}
	}
	return path, data, nil
}

// parse returns the records that stand in data.
func (f *FileStore) parse(ctx context.Context, data []byte) ([]Stored, error) {
	if data == nil {
		return nil, nil
	}
	o := f.opts
	o.AsWritten, o.Input, o.Secrets = true, nil, nil
	c, err := ParseContext(ctx, f.path, data, &o)
	if err != nil {
		return nil, err
	}
	all := make([]Stored, len(c.Servers))
	for i, s := range c.Servers {
		r := Of(s)
		encoded, err := r.Encode()
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", s.Title, err)
		}
		all[i] = Stored{Record: r, Revision: f.revision(encoded)}
	}
	return all, nil
}

func (f *FileStore) revision(encoded []byte) Revision {
	mac := hmac.New(sha256.New, f.key)
	mac.Write(encoded)
	return Revision(hex.EncodeToString(mac.Sum(nil)[:16]))
}

// Save implements [Store].
func (f *FileStore) Save(ctx context.Context, name string, r *Record, old Revision) (Revision, error) {
	if r == nil {
		return "", errNoRecord
	}
	entry, err := r.Entry()
	if err != nil {
		return "", fmt.Errorf("server %q: %w", r.Name, err)
	}
	var saved Revision
	var past *history
	err = f.edit(ctx, func(data []byte, records []Stored) ([]byte, error) {
		if _, err := placeOf(records, name, r.Name, old); err != nil {
			return nil, err
		}
		next, err := f.changed(data, func(d *draft) error { return d.put(name, r.Name, entry) })
		if err != nil {
			return nil, err
		}
		after, err := f.parse(ctx, next)
		if err != nil {
			return nil, err
		}
		for _, s := range after {
			if s.Record.Name == r.Name {
				saved = s.Revision
				past, err = f.past.read()
				if err == nil {
					past.saved(past.identify(records), name, r.Name)
				}
				return next, err
			}
		}
		return nil, fmt.Errorf("server %q cannot be found in the file that would be written", r.Name)
	}, func() error { return f.past.write(ctx, past) })
	return saved, err
}

// Delete implements [Store].
func (f *FileStore) Delete(ctx context.Context, name string, old Revision) error {
	return f.edit(ctx, func(data []byte, records []Stored) ([]byte, error) {
		at, err := presentAt(records, name, old)
		if err != nil {
			return nil, err
		}
		next, err := f.changed(data, func(d *draft) error { return d.remove(name) })
		if err != nil {
			return nil, err
		}
		past, err := f.past.read()
		if err != nil {
			return nil, err
		}
		past.removed(past.identify(records), at)
		return next, f.past.write(ctx, past) // first: it must not be lost
	}, nil)
}

// changed returns what becomes of data, which is nil if there is no file.
func (f *FileStore) changed(data []byte, change func(d *draft) error) ([]byte, error) {
	d, err := newDraft(f.path, data, &f.opts)
	if err != nil {
		return nil, err
	}
	if err := change(d); err != nil {
		return nil, err
	}
	return d.data, nil
}

// edit replaces the file by what change makes of it, while no other program of this
// library does, and then calls done, which may be nil.
func (f *FileStore) edit(ctx context.Context, change func(data []byte, records []Stored) ([]byte, error), done func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, err := atomicfile.Resolve(f.path)
	if err != nil {
		return f.cannotWrite(err)
	}
	unlock, err := atomicfile.Lock(ctx, path)
	if err != nil {
		return f.cannotWrite(err)
	}
	defer unlock()
	path, data, err := f.read()
	if err != nil {
		return err
	}
	records, err := f.parse(ctx, data)
	if err != nil {
		return err
	}
	next, err := change(data, records)
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(ctx, path, next, newFileMode); err != nil {
		return f.cannotWrite(err)
	}
	if done != nil {
		return done()
	}
	return nil
}

func (f *FileStore) cannotWrite(err error) error {
	return &Error{File: f.path, Err: fmt.Errorf("cannot change the config file: %w", err)}
}
