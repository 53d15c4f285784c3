package belt

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lookup looks up a variable that an entry names. What mcpbelt itself reads is set for no entry: a server
// could be sent it.
func (b *Belt) lookup(name string) (string, bool) {
	own := strings.HasPrefix(name, "MCPBELT_") && !strings.HasPrefix(name, "MCPBELT_INPUT_")
	if own || strings.HasPrefix(name, "PG") && b.Database != nil && b.Database.Remote() {
		return "", false
	}
	return b.Env.Lookup(name)
}

// HideFile keeps entries from reading a file by ${file:path}, such as that of a key. An empty path is none.
func (b *Belt) HideFile(path string) {
	if path != "" {
		b.hidden = append(b.hidden, b.Abs(path))
	}
}

var errOwnFile = errors.New("it is mcpbelt's own: no server is sent what is in it")

// mayRead returns why an entry must not read the file at a path: it is one of mcpbelt itself, or lies in the
// state folder.
func (b *Belt) mayRead(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // there is nothing to read
	}
	for _, own := range append(slices.Clone(b.hidden), b.Abs(b.shared.keyFile)) {
		if o, err := os.Stat(own); err == nil && os.SameFile(o, info) {
			return errOwnFile
		}
	}
	if b.Env.StateDir == "" {
		return nil
	}
	state, err := filepath.EvalSymlinks(b.Env.StateDir)
	if err != nil {
		return nil // there is none
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(state, real); err == nil && filepath.IsLocal(inside) {
		return errOwnFile
	}
	return nil
}
