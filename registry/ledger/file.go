package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

const (
	maxLedgerFile = 512 << 20 // bytes
	newLedgerMode = 0o644     // of a new file, which is meant to be committed
	newFolderMode = 0o755
)

// newFile returns what keeps a ledger in the file at path.
func newFile(path string) *document.File {
	return &document.File{Path: path, Most: maxLedgerFile, Mode: newLedgerMode, FolderMode: newFolderMode, Resolve: resolve, Check: ownfile.Check(path, ownfile.Committed)}
}

// resolve returns the path of the file itself that a name leads to. A link that leads out of its folder is
// followed to a ledger that is there, and not to make a file: the maker of a link, such
// as the author of a project, does not choose where this program writes.
func resolve(name string) (string, error) {
	path, err := atomicfile.Resolve(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if link, err := os.Lstat(name); err != nil || link.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	if inside, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(inside) {
		return path, nil
	}
	return "", fmt.Errorf("it is a symbolic link that leads out of its folder, to %s, where there is no file: remove the link, or open the ledger by that path if that is where it belongs", plain.Quote(path))
}
