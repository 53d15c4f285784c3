package consent

import (
	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
)

const maxFile = 64 << 20 // bytes

// newFile returns what keeps a book in the file at path.
func newFile(path string) *document.File {
	return &document.File{Path: path, Most: maxFile, Check: ownfile.Check(path)}
}
