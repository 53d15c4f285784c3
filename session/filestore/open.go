package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// Options are for [Open]. The zero value is fine.
type Options struct {
	// Keys returns the sealing keys. Nil means seal.KeyFile of the file
	// "key" in the folder of the store.
	Keys seal.KeySource
	// Logger reports files that are damaged (at level error), and files and folders
	// that others could use (as warnings). It gets names of records, but nothing of
	// what is in them. Nil discards the reports.
	Logger *slog.Logger
}

// staleTemp is how old a temporary file has to be before it is taken for that of a
// process that was killed. A writer that has really stopped for so long gets an
// error and loses nothing.
const staleTemp = time.Hour

// Open opens the store in the folder dir, which it makes if there is none. A folder
// that others than its owner may use is refused, unless it is empty or a store
// already; then they are locked out. An empty dir is refused. The error is an *[Error], a
// *seal.KeyError, or a *seal.CorruptError.
//
// Several processes, and several stores of one process, may have a folder open.
func Open(ctx context.Context, dir string, opts *Options) (*seal.Store, error) {
	if ctx == nil {
		return nil, errors.New("filestore: Open: the context is nil")
	}
	o := *cmp.Or(opts, new(Options))
	f, err := openFolder(dir, o.Logger)
	if err != nil {
		return nil, err
	}
	if o.Keys == nil {
		o.Keys = seal.KeyFile(filepath.Join(f.dir, "key"))
	}
	s, err := seal.NewStore(ctx, f, o.Keys)
	if err != nil {
		_ = f.Close()
	}
	return s, err
}

// openFolder opens the driver.
func openFolder(dir string, log *slog.Logger) (*folder, error) {
	f := &folder{dir: dir, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	if dir == "" {
		return nil, f.fail("open", "", errors.New("the path is empty: name a folder of its own for the sessions"))
	}
	abs, err := filepath.Abs(dir) // the program may change its folder
	if err == nil {
		f.dir, err = abs, os.MkdirAll(abs, 0o700)
	}
	if err == nil {
		f.root, err = os.OpenRoot(f.dir)
	}
	if err != nil {
		return nil, f.fail("open", "", err)
	}
	if err := f.prepare(); err != nil {
		return nil, errors.Join(f.fail("open", "", err), f.root.Close())
	}
	return f, nil
}

// prepare checks the folder and makes those in it.
func (f *folder) prepare() error {
	if err := f.lockOut(); err != nil {
		return err
	}
	for _, name := range []string{recordsDir, locksDir, tmpDir, damagedDir} {
		if err := f.makeDir(name); err != nil {
			return err
		}
		info, err := f.root.Lstat(name)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a folder, but %v", name, info.Mode().Type())
		}
	}
	// A store that cannot be written to can still be read.
	if err := f.removeStaleTemp(); err != nil {
		f.log.Warn("files of killed processes remain", "dir", f.dir, "err", err)
	}
	return nil
}

// lockOut makes sure that only the owner can use the folder.
func (f *folder) lockOut() error {
	info, err := f.root.Stat(".")
	if err != nil || ownfile.Mode(info, ownfile.Private) == "" {
		return err
	}
	if _, err := f.root.Lstat(recordsDir); errors.Is(err, fs.ErrNotExist) {
		if entries, err := fs.ReadDir(f.root.FS(), "."); err != nil {
			return err
		} else if len(entries) > 0 {
			return fmt.Errorf("others may use it, its mode is %v; take a folder of its own for the sessions, or lock the others out (chmod 700)", info.Mode().Perm())
		}
	}
	if err := f.root.Chmod(".", 0o700); err != nil {
		return fmt.Errorf("others may use it: %w", err)
	}
	f.log.Warn("others could use the folder of sessions; not any more", "dir", f.dir)
	return nil
}

// removeStaleTemp removes what killed writers have left.
func (f *folder) removeStaleTemp() error {
	entries, err := fs.ReadDir(f.root.FS(), tmpDir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleTemp {
			f.removeTemp(path.Join(tmpDir, e.Name()))
		}
	}
	return err
}
