package filestore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	recordsDir = "records"
	locksDir   = "locks"
	tmpDir     = "tmp"
	damagedDir = "damaged"

	recordPrefix = "0,"
)

// A folder is a storage.Store, storage.Locker and storage.Watcher in a folder. It owns no
// goroutine.
type folder struct {
	dir    string // absolute
	root   *os.Root
	log    *slog.Logger
	closed atomic.Bool
	locks  keylock.Set // held within the process, by name of the lock file
}

var (
	_ storage.Store   = (*folder)(nil)
	_ storage.Locker  = (*folder)(nil)
	_ storage.Watcher = (*folder)(nil)
)

// shard returns the folder of a record below recordsDir. There are 256 of them, so
// that none of them becomes slow.
func shard(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:1])
}

// file returns the path of a record. The prefix is there since Windows takes no file
// that is called con or aux.
func file(name string) string {
	return path.Join(recordsDir, shard(name), recordPrefix+name)
}

// begin checks what each call has to check.
func (f *folder) begin(ctx context.Context, name string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.closed.Load():
		return storage.ErrClosed
	}
	return storage.CheckName(name)
}

// read returns a record. The error wraps fs.ErrNotExist, or is a damage, or errNewer,
// or another one of the file system.
func (f *folder) read(name string) (storage.Record, error) {
	raw, err := f.readFile(file(name))
	if err != nil {
		return storage.Record{}, err
	}
	return decode(name, raw)
}

// readFile reads a file of the folder, of at most maxFile bytes. If others may read the
// file, that ends here, with a warning. A link is no file.
func (f *folder) readFile(path string) ([]byte, error) {
	info, err := f.root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file, but %v", path, info.Mode().Type())
	}
	h, err := f.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if info, err = h.Stat(); err != nil {
		return nil, err
	}
	if ownfile.Mode(info, ownfile.Private) != "" {
		if err := h.Chmod(0o600); err != nil {
			return nil, fmt.Errorf("others may read it: %w", err)
		}
		f.log.Warn("others could read a file of sessions; not any more", "dir", f.dir, "file", path)
	}
	if info.Size() > int64(maxFile) {
		return nil, damage("it is too large")
	}
	raw := make([]byte, info.Size())
	if _, err := io.ReadFull(h, raw); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, damage("it became shorter while it was read")
		}
		return nil, err
	}
	return raw, nil
}

// Load implements storage.Store. As long as the record is sound, it does not
// wait: files are replaced as a whole.
func (f *folder) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if err := f.begin(ctx, name); err != nil {
		return storage.Record{}, err
	}
	r, err := f.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return storage.Record{}, notFound(name)
	case errors.As(err, new(damage)):
		var unlock func()
		if unlock, err = f.lockShard(ctx, name); err == nil {
			r, err = f.current(name)
			unlock()
		}
	}
	if r.Revision == known {
		r.Data = nil
	}
	return r, f.fail("load", name, err)
}

func notFound(name string) error { return fmt.Errorf("%w: %q", storage.ErrNotFound, name) }

func conflict(name string) error { return fmt.Errorf("%w: %q", storage.ErrConflict, name) }

// current returns a record, and moves its file aside if that is damaged. The caller has
// locked its shard. The error is storage.ErrNotFound, storage.ErrDamaged or one of
// the file system.
func (f *folder) current(name string) (storage.Record, error) {
	r, err := f.read(name)
	var problem damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return storage.Record{}, notFound(name)
	case errors.As(err, &problem):
		if err := f.setAside(name, problem); err != nil {
			return storage.Record{}, err
		}
		return storage.Record{}, fmt.Errorf("%w: %q", storage.ErrDamaged, name)
	}
	return r, err
}

// setAside moves a damaged file to where it can be examined.
func (f *folder) setAside(name string, problem damage) error {
	from := file(name)
	to := path.Join(damagedDir, path.Base(from)+","+rand.Text())
	if err := f.root.Rename(from, to); err != nil {
		return err
	}
	f.log.Error("a session's file is damaged and was moved aside", "dir", f.dir,
		"record", name, "problem", string(problem), "file", to)
	return errors.Join(atomicfile.SyncDir(f.root.Open, damagedDir), atomicfile.SyncDir(f.root.Open, path.Dir(from)))
}

// Close implements storage.Store.
func (f *folder) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.root.Close()
}
