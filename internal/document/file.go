package document

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A File is a [Keeper] of one record in a file, whatever its name, and a
// storage.Locker. Its Save needs the lock. The revision is a hash of the content, and means
// nothing to another File. Other fields than Path and Most may be left out. It is safe for
// concurrent use, and must not be copied.
type File struct {
	Path       string
	Most       int64       // bytes that are read
	Mode       fs.FileMode // of a new file; default 0600
	FolderMode fs.FileMode // of a new folder; default 0700
	// Resolve returns the path of the file itself; default: atomicfile.Resolve.
	Resolve func(path string) (string, error)
	// Check refuses a file at a resolved path. Its info is nil if there is none yet.
	Check func(path string, info fs.FileInfo) error
	// Patience is how long a caller waits for the lock; default 10 s. Others leave it after
	// 50 ms of writing, unless they were stopped, or want to keep this process from writing.
	Patience time.Duration

	seeding sync.Once
	seed    maphash.Seed // so that others cannot make two contents of one revision

	mu       sync.Mutex // guards what follows
	seen     fs.FileInfo
	at       storage.Revision // of seen; empty: none that can be trusted
	unlocked time.Time        // when the lock was given back last
	since    time.Time        // when it was taken first without leaving it to others since
}

const (
	newMode       = 0o600
	newFolderMode = 0o700
	lockPatience  = 10 * time.Second
	// lockTurn is how long the lock may be taken back at once after each write, and
	// lockCourtesy how long it is left to others then. They look each millisecond whether it
	// is free, and would starve beside a process that never leaves it.
	lockTurn     = 50 * time.Millisecond
	lockCourtesy = 3 * time.Millisecond
)

var _ storage.Locker = (*File)(nil)

// racy is how long after a change the time of a file is not trusted: a second
// change might have the same time. Some file systems count in whole seconds, or
// every other one.
func racy(changed time.Time) time.Duration {
	if changed.Nanosecond() != 0 {
		return 100 * time.Millisecond
	}
	return 2 * time.Second
}

// Load implements [Keeper]. It does not read a file that looks the same as when it was
// read last.
func (f *File) Load(ctx context.Context, _ string, known storage.Revision) (storage.Record, error) {
	if err := ctx.Err(); err != nil {
		return storage.Record{}, err
	}
	path, err := f.resolve()
	if err != nil {
		return storage.Record{}, err
	}
	if known != "" && f.same(path, known) {
		return storage.Record{Revision: known}, nil
	}
	return f.read(path)
}

func (f *File) resolve() (string, error) {
	if f.Resolve != nil {
		return f.Resolve(f.Path)
	}
	return atomicfile.Resolve(f.Path)
}

func (f *File) check(path string, info fs.FileInfo) error {
	if f.Check == nil {
		return nil
	}
	return f.Check(path, info)
}

// read reads the file, and remembers what it looked like.
func (f *File) read(path string) (storage.Record, error) {
	data, info, err := atomicfile.Read(path, f.Most)
	if errors.Is(err, fs.ErrNotExist) {
		return storage.Record{}, storage.ErrNotFound
	}
	if err == nil {
		err = f.check(path, info)
	}
	if err != nil {
		return storage.Record{}, err
	}
	at := f.revisionOf(data)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.at = info, at
	if time.Since(info.ModTime()) < racy(info.ModTime()) {
		f.at = ""
	}
	return storage.Record{Data: data, Revision: at}, nil
}

// same reports whether the file is the one that was read with that revision.
func (f *File) same(path string, known storage.Revision) bool {
	info, err := os.Stat(path)
	if err != nil || f.check(path, info) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at == known && f.seen != nil && os.SameFile(f.seen, info) &&
		f.seen.Size() == info.Size() && f.seen.ModTime().Equal(info.ModTime())
}

func (f *File) revisionOf(data []byte) storage.Revision {
	f.seeding.Do(func() { f.seed = maphash.MakeSeed() })
	return storage.Revision(strconv.FormatUint(maphash.Bytes(f.seed, data), 16))
}

// ErrLocked reports that another process holds the lock for longer than Patience.
var ErrLocked = errors.New("another process holds the lock of its folder for too long: end that process, or use a file elsewhere")

// Lock implements storage.Locker. It makes the folder of the file. A caller locks before
// it reads what it is about to replace: otherwise a slow one would find again and again
// that others were faster.
func (f *File) Lock(ctx context.Context, _ string) (unlock func(), err error) {
	path, err := f.resolve()
	if err != nil {
		return nil, readOnly(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), orMode(f.FolderMode, newFolderMode)); err != nil {
		return nil, readOnly(err)
	}
	if err := f.yield(ctx); err != nil {
		return nil, err
	}
	patience := f.Patience
	if patience <= 0 {
		patience = lockPatience
	}
	patient, stop := context.WithTimeout(ctx, patience)
	defer stop()
	giveBack, err := atomicfile.Lock(patient, path)
	switch {
	case err == nil:
		return func() { giveBack(); f.gaveBack() }, nil
	case patient.Err() != nil && ctx.Err() == nil:
		return nil, ErrLocked
	}
	return nil, readOnly(err)
}

func orMode(mode, fallback fs.FileMode) fs.FileMode {
	if mode == 0 {
		return fallback
	}
	return mode
}

// yield waits until others have had time to take the lock, if this process had it for
// long enough.
func (f *File) yield(ctx context.Context) error {
	f.mu.Lock()
	now := time.Now()
	wait := lockCourtesy - now.Sub(f.unlocked)
	if wait > 0 && now.Sub(f.since) < lockTurn {
		wait = 0
	} else {
		f.since = now.Add(max(0, wait))
	}
	f.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *File) gaveBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unlocked = time.Now()
}

// Save implements [Keeper], while the caller holds the lock.
func (f *File) Save(ctx context.Context, _ string, data []byte, old storage.Revision) (storage.Revision, error) {
	path, err := f.resolve()
	if err != nil {
		return "", err
	}
	if old == "" || !f.same(path, old) {
		now, err := f.read(path)
		if errors.Is(err, storage.ErrNotFound) {
			err = f.check(path, nil)
		}
		if err != nil {
			return "", err
		}
		if now.Revision != old {
			return "", storage.ErrConflict
		}
	}
	info, err := atomicfile.Replace(ctx, path, data, orMode(f.Mode, newMode))
	if err != nil {
		return "", readOnly(err)
	}
	at := f.revisionOf(data)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.at = info, at
	return at, nil
}

// readOnly makes errors that say that nothing can be written storage.ErrReadOnly.
func readOnly(err error) error {
	if err != nil && atomicfile.Unwritable(err) {
		return fmt.Errorf("%w: %w", storage.ErrReadOnly, err)
	}
	return err
}

// Clean removes what a killed process has left beside the file. If that cannot be
// soon, the next Save does it.
func (f *File) Clean(ctx context.Context) {
	path, err := f.resolve()
	if err != nil || !atomicfile.Dirty(path) {
		return
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if unlock, err := atomicfile.Lock(ctx, path); err == nil {
		_ = atomicfile.Clean(path)
		unlock()
	}
}
