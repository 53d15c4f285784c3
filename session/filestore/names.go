package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/mcpbelt/mcpbelt/storage"
)

// Names implements storage.Store. It holds the names of one of the 256 folders at
// a time, and no file is open while it yields.
func (f *folder) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range 256 {
			names, err := f.namesIn(ctx, fmt.Sprintf("%02x", i), prefix)
			if err != nil {
				yield("", f.fail("list", "", err))
				return
			}
			for _, name := range names {
				if err := ctx.Err(); err != nil {
					yield("", err)
					return
				}
				if !yield(name, nil) {
					return
				}
			}
		}
	}
}

// namesIn returns the names in a folder of records.
func (f *folder) namesIn(ctx context.Context, dir, prefix string) (names []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.closed.Load() {
		return nil, storage.ErrClosed
	}
	err = f.each(path.Join(recordsDir, dir), func(file string) {
		name, ok := strings.CutPrefix(file, recordPrefix)
		if ok && shard(name) == dir && strings.HasPrefix(name, prefix) && storage.CheckName(name) == nil {
			names = append(names, name)
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// each calls do with the name of each file in a folder.
func (f *folder) each(dir string, do func(file string)) error {
	h, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	defer h.Close()
	for {
		entries, err := h.ReadDir(512)
		for _, e := range entries {
			do(e.Name())
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
