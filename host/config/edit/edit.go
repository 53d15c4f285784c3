package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// newFileMode is the mode of a file that is made: what is in it may be secret.
const newFileMode fs.FileMode = 0o600

// A File is a config file while it is being changed, see [Change]. It is not safe for
// concurrent use, and of no use after that.
//
// Each change is made in the text: comments, the order of entries and keys, white
// space, and what this package knows nothing of stay as they are. References such as
// ${VAR} are written as they are given. What the file's program calls otherwise than we
// do is written in its words where it stands in them already; where the program has no
// word, ours is written, which only this package reads. A server is switched off in the
// word that the program reads, see [File.Remarks]; that goes when it is on again.
//
// After each change the text is read back. If the server does not say what it was to
// say, if it cannot be used and could before, or if another server says something else,
// there is an error and the File is as it was.
type File struct {
	draft *draft
}

// Change reads the file at path, lets change do what it wants to it, and puts the result in
// its place, if anything changed: a reader meanwhile finds the old file or the new one,
// and so does a program after a kill. A file that is not there is made, with mode 0600,
// and its folder if need be; else the mode stays. A symbolic link stays, and what it
// leads to is changed.
//
// If another process, or another Edit of this one, changes the file meanwhile, it is read
// again and change is called again, with another File: it should do nothing but change
// the File. An error of change is returned as it is, and nothing is written. A file that
// cannot be read is never touched.
//
// Of opts only Format, Formats, Project and the scope [config.ScopeLocal] count; nil means the
// defaults. With that scope it is the section for the project that is changed, and made
// if need be: what Claude Code calls its local scope, and Kode that of the project. The format of
// a new file is that of its name or extension, or else mcpServers. The error is otherwise
// a [*config.Error], names the file and the server, or wraps that of ctx.
func Change(ctx context.Context, path string, opts *config.Options, change func(*File) error) error {
	if change == nil {
		return &editError{file: path, err: errors.New("there is nothing to change")}
	}
	return replaceFile(ctx, path, opts, func(d *draft) error { return change(&File{d}) }, nil)
}

// A locked is what is done while no other program of this library changes the file: before
// and after it is replaced. If before fails it is not.
type locked struct{ before, after func() error }

// replaceFile does what [Change] does. With a locked the file is replaced even if nothing
// has changed.
func replaceFile(ctx context.Context, path string, opts *config.Options, change func(*draft) error, around *locked) error {
	resolved, err := atomicfile.Resolve(path)
	if err != nil {
		return &editError{file: path, err: fmt.Errorf("cannot tell which file this is: %w", plainPathError(err))}
	}
	for {
		before, err := readForEdit(resolved)
		if err != nil {
			return &editError{file: path, err: fmt.Errorf("cannot read the file: %w", plainPathError(err))}
		}
		d, err := newDraft(path, before, opts)
		if err != nil {
			return err
		}
		start := d.data
		if err := change(d); err != nil {
			return err
		}
		if around == nil && bytes.Equal(d.data, start) {
			return ctx.Err()
		}
		done, err := replaceSame(ctx, resolved, before, d.data, around)
		if err != nil {
			return &editError{file: path, err: fmt.Errorf("cannot write the file: %w", plainPathError(err))}
		}
		if done {
			return nil
		}
	}
}

// replaceSame puts after in the place of before, and reports whether before was still
// there.
func replaceSame(ctx context.Context, resolved string, before, after []byte, around *locked) (done bool, err error) {
	if err := os.MkdirAll(filepath.Dir(resolved), 0o700); err != nil {
		return false, err
	}
	unlock, err := atomicfile.Lock(ctx, resolved)
	if err != nil {
		return false, err
	}
	defer unlock()
	now, err := readForEdit(resolved)
	if err != nil || (now == nil) != (before == nil) || !bytes.Equal(now, before) {
		return false, err
	}
	if around != nil {
		if err := around.before(); err != nil {
			return false, err
		}
	}
	if _, err := atomicfile.Replace(ctx, resolved, after, newFileMode); err != nil || around == nil {
		return true, err
	}
	return true, around.after()
}

// readForEdit returns what is in the file, nil if it is not there.
func readForEdit(resolved string) ([]byte, error) {
	data, _, err := atomicfile.Read(resolved, jsonc.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// plainPathError leaves out the path, which the error around it says.
func plainPathError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// Bytes returns the text as it is now. The caller must not change it.
func (f *File) Bytes() []byte { return f.draft.data }

// Records returns the servers of the file, in its order, as records. An entry with
// faults has those fields that could be read.
func (f *File) Records() ([]*config.Server, error) {
	said, err := f.draft.content()
	if err != nil {
		return nil, err
	}
	return said.records(), nil
}

// parseWritten reads data with values as written: no person is asked, so that nothing
// waits.
func parseWritten(path string, data []byte, asWritten *config.Options) (*config.Config, error) {
	return config.Parse(context.Background(), path, data, asWritten)
}

// Record returns the server of that name. The error wraps a [*record.Error] of
// [record.CodeNotFound] if there is none.
func (f *File) Record(name string) (*config.Server, error) {
	said, err := f.draft.content()
	if err != nil {
		return nil, err
	}
	for _, s := range said.servers {
		if s.Title == name && name != "" {
			return record.Of(s), nil
		}
	}
	return nil, &editError{file: f.draft.path, title: name, err: &record.Error{Code: record.CodeNotFound, Name: name}}
}

// Add puts a new server behind the others. The error wraps a [*record.Error] of
// [record.CodeNameTaken] if there is one of its name, and those of [record.Validate].
func (f *File) Add(r *config.Server) error {
	if err := record.Validate(r); err != nil {
		return &editError{file: f.draft.path, title: r.Name, err: err}
	}
	return f.write("", record.Of(r))
}

// Set changes the server of that name: what p does not say stays, what it says to be
// empty goes, and a secret that p has masked stays what it is, see [record.Patch.Apply]. A
// Name in p renames the server, at its place. The error wraps a [*record.Error] if there
// is no such server or p cannot be applied.
func (f *File) Set(name string, p *record.Patch) error {
	old, err := f.Record(name)
	if err != nil {
		return err
	}
	r, err := p.Apply(old)
	if err != nil {
		return &editError{file: f.draft.path, title: name, err: err}
	}
	return f.write(name, r)
}

// Remove takes the server of that name away, with its comments. The error wraps a
// [*record.Error]: of [record.CodeNotFound] if there is none, of [record.CodeBuiltinReadOnly] if it is
// the program's own.
func (f *File) Remove(name string) error {
	r, err := f.Record(name)
	if err != nil {
		return err
	}
	if r.Builtin {
		return &editError{file: f.draft.path, title: name, err: &record.Error{Code: record.CodeBuiltinReadOnly, Name: name}}
	}
	return f.draft.remove(name)
}

// Remarks says of what was changed so far, in its order, what the file's own program
// does not heed: most of all that a server is switched off, where the program has no key
// for that. The Key of each begins with the server's name.
func (f *File) Remarks() []Remark { return slices.Clone(f.draft.remarks) }

func (f *File) write(name string, r *config.Server) error {
	entry, err := r.Entry()
	if err != nil {
		return &editError{file: f.draft.path, title: r.Name, err: err}
	}
	return f.draft.put(name, r.Title, entry)
}
