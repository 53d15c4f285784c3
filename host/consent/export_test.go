package consent

import (
	"path/filepath"
	"testing"
)

// StoreOf returns the store of a book, for the kit.
func StoreOf(b *Book) Store { return b.store }

// FileStoreIn returns a store of Open, in a folder that does not exist yet.
func FileStoreIn(t testing.TB) Store {
	return &fileStore{path: filepath.Join(t.TempDir(), "new", "consents.json")}
}

// SameFile returns another store over the same file.
func SameFile(s Store) Store { return &fileStore{path: s.(*fileStore).path} }
