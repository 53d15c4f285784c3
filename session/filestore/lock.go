package filestore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	shardLock  = "shard," // for a moment, by Save and Delete; the file stays
	recordLock = "lock,"  // by Lock, for as long as it likes; the file goes with the lock

	shardRetry  = time.Millisecond
	recordRetry = 5 * time.Millisecond
)

// lockShard locks the states of the records in one of the 256 folders. Nothing
// that waits for another process may happen under it.
func (f *folder) lockShard(ctx context.Context, name string) (unlock func(), err error) {
	file := shardLock + shard(name)
	release, err := f.locks.Lock(ctx, file)
	if err != nil {
		return nil, err
	}
	l := f.flock(file)
	if _, err := l.TryLockContext(ctx, shardRetry); err != nil {
		release()
		return nil, err
	}
	return func() {
		_ = l.Unlock() // the file is closed, and so unlocked, in any case
		release()
	}, nil
}

// Lock implements storage.Locker. Of many callers in this process, one at a time
// asks the others.
func (f *folder) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := f.begin(ctx, name); err != nil {
		return nil, err
	}
	file := recordLock + name
	release, err := f.locks.Lock(ctx, file)
	if err != nil {
		return nil, err
	}
	l := f.flock(file)
	for {
		if _, err := l.TryLockContext(ctx, recordRetry); err != nil {
			release()
			return nil, f.fail("lock", name, err)
		}
		if sameFile(l) {
			break
		}
		_ = l.Unlock() // a file that its last owner has removed
	}
	return sync.OnceFunc(func() {
		_ = removeLocked(l.Path(), l.Unlock)
		release()
	}), nil
}

func (f *folder) flock(file string) *flock.Flock {
	return flock.New(filepath.Join(f.dir, locksDir, file),
		flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow), flock.SetPermissions(0o600))
}

// sameFile reports whether a lock file that was locked is still the one that
// others would lock. Between opening and locking, its owner may have removed it.
func sameFile(l *flock.Flock) bool {
	locked, err := l.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(l.Path())
	return err == nil && os.SameFile(locked, now)
}

// removeStaleLocks removes the lock files of processes that did not live to do
// it.
func (f *folder) removeStaleLocks() error {
	return f.each(locksDir, func(file string) {
		if !strings.HasPrefix(file, recordLock) {
			return
		}
		l := f.flock(file)
		if ok, err := l.TryLock(); !ok || err != nil {
			return // in use
		}
		if sameFile(l) {
			_ = removeLocked(l.Path(), l.Unlock)
		} else {
			_ = l.Unlock()
		}
	})
}
