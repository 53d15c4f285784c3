// Package ownfile checks whether others than the user of this program may change a file on
// which it relies. On Windows, where modes do not say so, it finds nothing.
package ownfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// The permissions that others must not have.
const (
	NotRead  fs.FileMode = 0o077 // nor write
	NotWrite fs.FileMode = 0o022
)

// Mode returns what others may do with a file that they must not, with the cure; empty if
// there is nothing.
func Mode(info fs.FileInfo, denied fs.FileMode) string {
	if runtime.GOOS == "windows" || info.Mode().Perm()&denied == 0 {
		return ""
	}
	return fmt.Sprintf("others may use it, its mode is %v; chmod 600", info.Mode().Perm())
}

// Folder returns why others may put another file in the place of the one at path, with the
// cure; empty if they may not.
func Folder(path string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", nil
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || dir.Mode().Perm()&0o022 == 0 || dir.Mode()&fs.ModeSticky != 0 {
		return "", err
	}
	return fmt.Sprintf("others may put another one into its folder, whose mode is %v; chmod 700", dir.Mode().Perm()), nil
}

// Check returns what fails if others than the user may change the file at a resolved path, or the
// link to it at path. Info is nil if there is no such file.
func Check(path string) func(resolved string, info fs.FileInfo) error {
	return func(resolved string, info fs.FileInfo) error {
		if info != nil {
			if problem := cmp.Or(Owner(info), Mode(info, NotWrite)); problem != "" {
				return errors.New(problem)
			}
		}
		for _, place := range []string{resolved, path} {
			if problem, err := Folder(place); err != nil {
				return err
			} else if problem != "" {
				return errors.New(problem)
			}
			if filepath.Dir(resolved) == filepath.Dir(path) {
				break
			}
		}
		return nil
	}
}
