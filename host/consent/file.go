package consent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
)

const (
	maxFile   = 64 << 20 // bytes
	newMode   = 0o600    // of a new file
	newFolder = 0o700
	// settled is how old the time of a file must be to be trusted: a second change
	// might have the same time. Some file systems count every other second.
	settled = 2 * time.Second
)

// A fileStore keeps the book in a file. The revision is a hash of the content.
type fileStore struct {
	path string

	mu   sync.Mutex // guards what follows
	seen fs.FileInfo
	at   string // revision of seen; empty: none that can be trusted
}

// Load reads the file, unless it looks the same as when it was read last.
func (f *fileStore) Load(ctx context.Context, known string) ([]byte, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	path, err := atomicfile.Resolve(f.path)
	if err != nil {
		return nil, "", err
	}
	if known != "" && f.same(path, known) {
		return nil, known, nil
	}
	return f.read(path)
}

func (f *fileStore) read(path string) ([]byte, string, error) {
	data, info, err := atomicfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err == nil {
		err = f.trust(path, info)
	}
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(data)
	revision := hex.EncodeToString(sum[:])
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.at = info, revision
	if age := time.Since(info.ModTime()); age < settled {
		f.at = ""
	}
	return data, revision, nil
}

// trust fails if others than the user may change the file at a resolved path, or the link
// to it. Info is nil if there is no such file.
func (f *fileStore) trust(path string, info fs.FileInfo) error {
	if info != nil {
		if problem := cmp.Or(ownfile.Owner(info), ownfile.Mode(info, ownfile.NotWrite)); problem != "" {
			return errors.New(problem)
		}
	}
	for _, place := range []string{path, f.path} {
		if problem, err := ownfile.Folder(place); err != nil {
			return err
		} else if problem != "" {
			return errors.New(problem)
		}
		if filepath.Dir(path) == filepath.Dir(f.path) {
			break
		}
	}
	return nil
}

// same reports whether the file is the one that was read with that revision.
func (f *fileStore) same(path, known string) bool {
	info, err := os.Stat(path)
	if err != nil || f.trust(path, info) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at == known && os.SameFile(f.seen, info) &&
		f.seen.Size() == info.Size() && f.seen.ModTime().Equal(info.ModTime())
}

// Save replaces the file while it holds the lock.
func (f *fileStore) Save(ctx context.Context, data []byte, old string) (string, error) {
	path, err := atomicfile.Resolve(f.path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), newFolder); err != nil {
		return "", err
	}
	unlock, err := atomicfile.Lock(ctx, path)
	if err != nil {
		return "", err
	}
	defer unlock()
	_, now, err := f.read(path)
	if err == nil && now == "" {
		err = f.trust(path, nil)
	}
	if err != nil {
		return "", err
	}
	if now != old {
		return "", ErrConflict
	}
	if err := atomicfile.Replace(ctx, path, data, newMode); err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
