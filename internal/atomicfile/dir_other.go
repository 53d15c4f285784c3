//go:build unix && !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package atomicfile

import (
	"context"
	"errors"
)

// lockDir cannot: locks here are of files that are open for writing.
func lockDir(context.Context, string) (func(), error) { return nil, errors.ErrUnsupported }
