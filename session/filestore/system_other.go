//go:build !unix

package filestore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const noFollow = 0

// others reports false: modes say nothing here.
func others(fs.FileInfo) bool { return false }

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(*os.Root, string) error { return nil }

// full reports whether an error says that there is no room.
func full(err error) bool {
	const (
		handleDiskFull = syscall.Errno(39)  // ERROR_HANDLE_DISK_FULL of Windows
		diskFull       = syscall.Errno(112) // ERROR_DISK_FULL
	)
	return errors.Is(err, handleDiskFull) || errors.Is(err, diskFull)
}
