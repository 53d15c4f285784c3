//go:build unix

package ownfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owner returns that a file belongs to neither the user of this program nor root, with the
// cure; empty if it does.
func owner(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || int(stat.Uid) == os.Geteuid() {
		return ""
	}
	return fmt.Sprintf("it belongs to the user %d, and this program runs as %d; remove it, or chown it after a look at it", stat.Uid, os.Geteuid())
}

// ofUserGroup reports whether a file belongs to the user of this program and to the group of the same number.
func ofUserGroup(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == stat.Gid && int(stat.Uid) == os.Geteuid()
}
