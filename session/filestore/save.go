package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Save implements storage.Store.
func (f *folder) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if err := f.begin(ctx, name); err != nil {
		return "", err
	}
	if len(data) > storage.MaxData {
		return "", fmt.Errorf("%w: %q: %d bytes", storage.ErrTooLarge, name, len(data))
	}
	if r, err := f.read(name); err == nil && r.Revision != old {
		return "", conflict(name) // without writing and locking for nothing
	}
	raw, at := encode(name, data)
	if err := f.save(ctx, name, raw, old); err != nil {
		return "", f.fail("save", name, err)
	}
	return at, nil
}

// save writes a file beside and puts it in the place of the record.
func (f *folder) save(ctx context.Context, name string, raw []byte, old storage.Revision) error {
	tmp, err := f.writeTemp(raw)
	dir := path.Dir(file(name))
	if err == nil {
		err = f.makeDir(dir)
	}
	if err == nil {
		err = f.replace(ctx, name, tmp, old)
	}
	if err != nil {
		if tmp != "" {
			f.removeTemp(tmp)
		}
		return err
	}
	return atomicfile.SyncDir(f.root.Open, dir)
}

// replace puts tmp in the place of a record, if its revision is old.
func (f *folder) replace(ctx context.Context, name, tmp string, old storage.Revision) error {
	unlock, err := f.lockShard(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := f.current(name)
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	if r.Revision != old {
		return conflict(name)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.root.Rename(tmp, file(name))
}

// Delete implements storage.Store.
func (f *folder) Delete(ctx context.Context, name string, old storage.Revision) error {
	if err := f.begin(ctx, name); err != nil {
		return err
	}
	return f.fail("delete", name, f.delete(ctx, name, old))
}

func (f *folder) delete(ctx context.Context, name string, old storage.Revision) error {
	unlock, err := f.lockShard(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := f.current(name)
	if err != nil {
		return err
	}
	if r.Revision != old {
		return conflict(name)
	}
	if err := f.root.Remove(file(name)); err != nil {
		return err
	}
	return atomicfile.SyncDir(f.root.Open, path.Dir(file(name)))
}

// makeDir makes a folder, unless it is there.
func (f *folder) makeDir(name string) error {
	err := f.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return atomicfile.SyncDir(f.root.Open, path.Dir(name))
}

// writeTemp writes a new file, syncs it and returns its path.
func (f *folder) writeTemp(raw []byte) (tmp string, err error) {
	tmp = path.Join(tmpDir, rand.Text())
	h, err := f.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = h.Write(raw)
	if err == nil {
		err = h.Sync()
	}
	return tmp, errors.Join(err, h.Close())
}

// removeTemp removes a file that is of no use. Open removes what remains.
func (f *folder) removeTemp(tmp string) {
	if err := f.root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("a temporary file remains", "dir", f.dir, "file", tmp, "err", err)
	}
}
