// Package ownfile checks whether others than the user of this program may change a file on
// which it relies. On Windows, where modes do not say so, it finds nothing.
package ownfile

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// A Rule says what others must not do with a file.
type Rule int

const (
	Private   Rule = iota // read it or write to it
	Own                   // write to it
	Committed             // write to it, but for the group of the user's own number, which has no other member: git makes such files where the umask is 002
)

// An Unsafe is why a file must not be relied on, with the cure.
type Unsafe string

func (u Unsafe) Error() string { return string(u) }

// Read returns what is in the file at path, which may be a link, if it is a regular file of at most that many
// bytes, belongs to the user of this program or to root, and others cannot do with it what the rule
// denies, nor put another one in its place. If they can, the error is an [Unsafe].
func Read(path string, most int64, rule Rule) ([]byte, error) {
	resolved, err := atomicfile.Resolve(path)
	if err != nil {
		return nil, err
	}
	data, info, err := atomicfile.Read(resolved, most)
	if err == nil {
		err = check(path, resolved, info, rule)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Mode returns what others may do with a file that they must not, with the cure; empty if
// there is nothing.
func Mode(info fs.FileInfo, rule Rule) string {
	if runtime.GOOS == "windows" || info.Mode().Perm()&rule.denied(info) == 0 {
		return ""
	}
	return fmt.Sprintf("others may use it, its mode is %v; chmod 600", info.Mode().Perm())
}

// denied returns the permissions that others must not have.
func (r Rule) denied(info fs.FileInfo) fs.FileMode {
	switch {
	case r == Private:
		return 0o077
	case r == Committed && ofUserGroup(info):
		return 0o002
	}
	return 0o022
}

// folder returns why others may put another file in the place of the one at path, with the
// cure; empty if they may not.
func folder(path string, rule Rule) (string, error) {
	if runtime.GOOS == "windows" {
		return "", nil
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || dir.Mode().Perm()&max(rule, Own).denied(dir) == 0 || dir.Mode()&fs.ModeSticky != 0 {
		return "", err
	}
	return fmt.Sprintf("others may put another one into its folder, whose mode is %v; chmod 700", dir.Mode().Perm()), nil
}

// Check returns what fails with an [Unsafe] if others may do with the file at a resolved path, or the
// link to it at path, what the rule denies. Info is nil if there is no such file.
func Check(path string, rule Rule) func(resolved string, info fs.FileInfo) error {
	return func(resolved string, info fs.FileInfo) error { return check(path, resolved, info, rule) }
}

// CheckOpen checks a file that is open by [Own].
func CheckOpen(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return Unsafe("it is not a regular file")
	}
	resolved, err := atomicfile.Resolve(f.Name())
	if err != nil {
		return err
	}
	return check(f.Name(), resolved, info, Own)
}

func check(path, resolved string, info fs.FileInfo, rule Rule) error {
	if info != nil {
		if problem := cmp.Or(owner(info), Mode(info, rule)); problem != "" {
			return Unsafe(problem)
		}
	}
	for _, place := range []string{resolved, path} {
		if problem, err := folder(place, rule); err != nil {
			return err
		} else if problem != "" {
			return Unsafe(problem)
		}
		if filepath.Dir(resolved) == filepath.Dir(path) {
			break
		}
	}
	return nil
}
