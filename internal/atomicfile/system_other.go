//go:build !unix

package atomicfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpbelt/mcpbelt/internal/feed"
)

// NoFollow is nothing here: symbolic links cannot be told from files when they are opened.
const NoFollow = 0

// Unwritable reports whether an error of [Lock] or [Replace] says that nothing can
// be written there at all, now or later.
func Unwritable(err error) bool { return errors.Is(err, fs.ErrPermission) }

// rename tries for a while: a file that is being read cannot be replaced
// here.
func rename(ctx context.Context, from, to string) error {
	const patience = 2 * time.Second
	for end := time.Now().Add(patience); ; {
		err := os.Rename(from, to)
		if err == nil || time.Now().After(end) {
			return err
		}
		if err := feed.Sleep(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// SyncDir does nothing: folders cannot be synced here.
func SyncDir(func(string) (*os.File, error), string) error { return nil }

// removeLocked unlocks first: a file that is open cannot be removed here, and so not
// while another process has it.
func removeLocked(l *flock.Flock) {
	_ = l.Unlock()
	_ = os.Remove(l.Path())
}

func lockDir(context.Context, string) (func(), error) { return nil, errors.ErrUnsupported }
