package consent

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
)

const maxFile = 64 << 20 // bytes

// newFile returns what keeps a book in the file at path.
func newFile(path string) *document.File {
	return &document.File{Path: path, Most: maxFile, Check: func(resolved string, info fs.FileInfo) error {
		return checkOwner(path, resolved, info)
	}}
}

// checkOwner fails if others than the user may change the file at a resolved path, or the
// link to it at path. Info is nil if there is no such file.
func checkOwner(path, resolved string, info fs.FileInfo) error {
	if info != nil {
		if problem := cmp.Or(ownfile.Owner(info), ownfile.Mode(info, ownfile.NotWrite)); problem != "" {
			return errors.New(problem)
		}
	}
	for _, place := range []string{resolved, path} {
		if problem, err := ownfile.Folder(place); err != nil {
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
