package filestore

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	shardLock  = "shard," // for a moment, by Save and Delete; the file stays
	recordLock = "lock,"  // by Lock, for as long as it likes; the file stays

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
	if _, err := l.TryLockContext(ctx, recordRetry); err != nil {
		release()
		return nil, f.fail("lock", name, err)
	}
	return sync.OnceFunc(func() {
		_ = l.Unlock()
		release()
	}), nil
}

func (f *folder) flock(file string) *flock.Flock {
	return flock.New(filepath.Join(f.dir, locksDir, file),
		flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow), flock.SetPermissions(0o600))
}
