// Package atomicfile replaces files whole: a reader, at any moment, finds the old
// content or the new one, even if the writer is killed meanwhile.
package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// retryEvery is the wait before another attempt at what another process holds up.
const retryEvery = time.Millisecond

// Resolve returns the path of the file that path stands for: symbolic links are
// followed, and the last one need not lead to a file that exists.
func Resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if errors.Is(err, fs.ErrNotExist) {
				return path, nil
			}
			return filepath.Join(dir, filepath.Base(path)), err
		}
		if !filepath.IsAbs(target) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// Read returns what is in the file at a resolved path, and what it was like when
// it was read. A file of more than most bytes is an error.
func Read(path string, most int64) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() { // to open a pipe would be to wait
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if info.Size() > most {
		return nil, nil, fmt.Errorf("%s has %d bytes, more than the limit of %d", path, info.Size(), most)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, info, nil
}

// temp is the name of the file that is to take the place of the one at path.
// There is one name only, so that what a killed process leaves behind is
// overwritten by the next.
func temp(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
}

// Replace puts data in the place of the file at a resolved path, and returns when
// that would survive a loss of power. The file keeps its mode; a new one has mode
// perm, before umask. The caller holds the lock of path, see [Lock].
//
// Its info tells the file from any later one, also if a person writes into it at once and
// it keeps its size: the time of the file is finer than the clocks of file systems. It is
// nil where the file system does not keep such times.
func Replace(ctx context.Context, path string, data []byte, perm fs.FileMode) (fs.FileInfo, error) {
	keep, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	tmp := temp(path)
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(data); err == nil && keep != nil {
		err = f.Chmod(keep.Mode().Perm())
	}
	info := stamp(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(ctx, tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // the next Replace tries again
		return nil, err
	}
	return info, SyncDir(os.Open, filepath.Dir(path))
}

// stamp sets the time of a file to now, in nanoseconds: file systems count in ticks of
// some milliseconds. It returns nil if the time that the file has then is another one.
func stamp(f *os.File) fs.FileInfo {
	now := time.Now()
	if os.Chtimes(f.Name(), now, now) != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.ModTime().Sub(now).Abs() >= time.Microsecond {
		return nil
	}
	return info
}

// Clean removes what a killed process left beside a resolved path. The caller
// holds the lock.
func Clean(path string) error {
	if err := os.Remove(temp(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Dirty reports whether there is something for [Clean] to remove, or a process is
// replacing the file just now.
func Dirty(path string) bool {
	_, err := os.Lstat(temp(path))
	return err == nil
}
