//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package atomicfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// lockDir locks a folder itself. The error is errors.ErrUnsupported where that
// cannot be.
func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	l := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	switch err := try(ctx, l); {
	case err == nil:
		return func() { _ = l.Unlock() }, nil // the file is closed, and so unlocked, in any case
	case ctx.Err() != nil, errors.Is(err, fs.ErrNotExist):
		return nil, err
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EINTR):
		// Others can lock it at this moment: another kind of lock would not keep
		// them off.
		return nil, err
	default:
		return nil, errors.ErrUnsupported
	}
}
