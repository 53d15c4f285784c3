package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// newFileMode is the mode of a file that is made: what is in it may be secret.
const newFileMode fs.FileMode = 0o600

// A locked is what is done while no other program of this library changes the file: before
// and after it is replaced. If before fails it is not.
type locked struct{ before, after func() error }

// replaceFile reads the file at path, lets change do what it wants to it, and puts the result in
// its place: a reader meanwhile finds the old file or the new one, and so does a program after a
// kill. A file that is not there is made, with mode 0600, and its folder if need be; else the mode
// stays. A symbolic link stays, and what it leads to is changed.
//
// If another process, or another store of this one, changes the file meanwhile, it is read
// again and change is called again. An error of change is returned as it is, and nothing is
// written. A file that cannot be read is never touched.
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
		if err := change(d); err != nil {
			return err
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
