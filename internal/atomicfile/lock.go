package atomicfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/mcpbelt/mcpbelt/internal/feed"
)

// Lock waits until no other process, and no other caller in this one, holds the lock
// of the file at a resolved path, or until ctx ends. The lock ends with its
// process.
//
// It is a lock of the folder, so that no lock file lies about, where folders can
// be locked. Elsewhere, on Windows and on some network file systems, it is a lock
// file that goes with the lock.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	unlock, err = lockDir(ctx, filepath.Dir(path))
	if errors.Is(err, errors.ErrUnsupported) {
		return lockBeside(ctx, path)
	}
	return unlock, err
}

// lockBeside locks a file that is made for it.
func lockBeside(ctx context.Context, path string) (unlock func(), err error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	l := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR|NoFollow), flock.SetPermissions(0o600))
	for {
		if err := try(ctx, l); err != nil {
			return nil, err
		}
		if sameFile(l) {
			return func() { removeLocked(l) }, nil
		}
		_ = l.Unlock() // a file that its last owner has removed
	}
}

// try locks l as soon as it is free.
func try(ctx context.Context, l *flock.Flock) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		ok, err := l.TryLock()
		if ok || err != nil {
			return err
		}
		if err := feed.Sleep(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// sameFile reports whether a lock file that was locked is still the one that
// others would lock.
func sameFile(l *flock.Flock) bool {
	locked, err := l.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(l.Path())
	return err == nil && os.SameFile(locked, now)
}
