package filestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strconv"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/session/driver"
)

const (
	recordsDir = "records"
	locksDir   = "locks"
	tmpDir     = "tmp"
	damagedDir = "damaged"
)

// states is how many states of a record are kept: the current one and older ones.
const states = 3

// A folder is a driver.Store and driver.Locker in a folder. It owns no goroutine.
type folder struct {
	dir    string // absolute
	root   *os.Root
	link   func(from, to string) error // root.Link
	log    *slog.Logger
	closed atomic.Bool
	locks  keylock.Set // held within the process, by name of the lock file
}

var (
	_ driver.Store  = (*folder)(nil)
	_ driver.Locker = (*folder)(nil)
)

// shard returns the folder of a record below recordsDir. There are 256 of them, so
// that none of them becomes slow.
func shard(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:1])
}

// file returns the path of a state of a record; state 0 is the current one. The
// number stands in front since Windows takes no file that is called con or aux.
func file(name string, state int) string {
	return path.Join(recordsDir, shard(name), strconv.Itoa(state)+","+name)
}

// begin checks what each call has to check.
func (f *folder) begin(ctx context.Context, name string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.closed.Load():
		return driver.ErrClosed
	}
	return driver.CheckName(name)
}

// read returns a state of a record. The error wraps fs.ErrNotExist, or is a
// damage, or errNewer, or another one of the file system.
func (f *folder) read(name string, state int) (driver.Record, error) {
	raw, err := f.readFile(file(name, state))
	if err != nil {
		return driver.Record{}, err
	}
	return decode(name, raw)
}

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
	if others(info) {
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

// Load implements driver.Store. As long as the record is sound, it waits for
// nobody: files are replaced as a whole.
func (f *folder) Load(ctx context.Context, name string) (driver.Record, error) {
	if err := f.begin(ctx, name); err != nil {
		return driver.Record{}, err
	}
	r, err := f.read(name, 0)
	if err == nil {
		return r, nil
	}
	var hurt damage
	if !errors.As(err, &hurt) {
		if !errors.Is(err, fs.ErrNotExist) {
			return driver.Record{}, f.fail("load", name, err)
		}
		if !f.hasOlder(name) {
			return driver.Record{}, notFound(name)
		}
	}
	unlock, err := f.lockShard(ctx, name)
	if err != nil {
		return driver.Record{}, f.fail("load", name, err)
	}
	defer unlock()
	r, err = f.current(name)
	return r, f.fail("load", name, err)
}

func notFound(name string) error { return fmt.Errorf("%w: %q", driver.ErrNotFound, name) }

func conflict(name string) error { return fmt.Errorf("%w: %q", driver.ErrConflict, name) }

// Close implements driver.Store.
func (f *folder) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.root.Close()
}
