package filestore

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
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
	return f.lock(ctx, shardLock+shard(name), shardRetry)
}

// Lock implements storage.Locker.
func (f *folder) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := f.begin(ctx, name); err != nil {
		return nil, err
	}
	unlock, err = f.lock(ctx, recordLock+name, recordRetry)
	return unlock, f.fail("lock", name, err)
}

// lock locks a file. Of many callers in this process, one at a time asks the others.
func (f *folder) lock(ctx context.Context, file string, retry time.Duration) (unlock func(), err error) {
	release, err := f.locks.Lock(ctx, file)
	if err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(f.dir, locksDir, file), flock.SetFlag(os.O_CREATE|os.O_RDWR|atomicfile.NoFollow), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, retry); err != nil {
		release()
		return nil, err
	}
	return sync.OnceFunc(func() {
		_ = l.Unlock() // the file is closed, and so unlocked, in any case
		release()
	}), nil
}
