//go:build unix

package atomicfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// NoFollow makes opening a symbolic link an error.
const NoFollow = syscall.O_NOFOLLOW

// Unwritable reports whether an error of [Lock] or [Replace] says that nothing can
// be written there at all, now or later.
func Unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

func rename(_ context.Context, from, to string) error { return os.Rename(from, to) }

// SyncDir makes the names in a folder, which open opens, survive a loss of power.
func SyncDir(open func(string) (*os.File, error), name string) error {
	d, err := open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // the file system cannot
	}
	return errors.Join(err, d.Close())
}

// removeLocked removes a lock file while it is locked. Those that wait for it find
// out that it is gone; see sameFile.
func removeLocked(l *flock.Flock) {
	_ = os.Remove(l.Path())
	_ = l.Unlock() // closes the file, and so unlocks it in any case
}
