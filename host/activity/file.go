package activity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

const (
	// maxFile is how many bytes the file may have. Before it would have more it becomes
	// the file before it, and a new one is begun; one Write is not divided.
	maxFile = 64 << 20

	fileMode   = 0o600
	folderMode = 0o700
)

// A File is a [Sink] that appends events to a file, one JSON object a line. When the
// file has 64 MB it becomes the file before it, such as activity.jsonl.1, in the place of the
// one that was.
//
// Several processes may write to one file: each locks its folder while it writes, and
// keeps nothing open meanwhile, so that the file may also be renamed or deleted by
// others. A process that is killed leaves at most one line that is not whole; the
// next Write ends it, and readers pass over it. It is safe for concurrent use, and
// there is nothing to close.
type File struct {
	path string
	most int64 // maxFile, but in tests

	mu sync.Mutex // held while written
}

// OpenFile returns a sink that appends to the file at path. It makes the file, with
// mode 0600, and its folder, with mode 0700, if they are missing; a file that there
// is keeps its mode. It fails if the file cannot be written.
func OpenFile(path string) (*File, error) {
	f := &File{path: path, most: maxFile}
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, f.failed(err)
	}
	resolved, err := atomicfile.Resolve(path)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if err != nil {
		return nil, f.failed(err)
	}
	f.path = resolved
	file, _, err := openAppending(f.path)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, f.failed(err)
	}
	return f, nil
}

func (f *File) failed(err error) error {
	return fmt.Errorf("activity: the log file %s: %w", f.path, err)
}

// Write implements [Sink]. After an error nothing of events is in the file, as far as
// the file system lets it be taken back.
func (f *File) Write(ctx context.Context, events []Event) error {
	var lines []byte
	for i := range events {
		line, err := json.Marshal(&events[i])
		if err != nil {
			return f.failed(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	unlock, err := atomicfile.Lock(ctx, f.path)
	if err != nil {
		return f.failed(err)
	}
	defer unlock()
	if err := f.append(lines); err != nil {
		return f.failed(err)
	}
	return nil
}

// append appends lines to the file, or to a new one if it is full. It needs the
// lock of the folder.
func (f *File) append(lines []byte) (err error) {
	file, size, err := openAppending(f.path)
	if err != nil {
		return err
	}
	if size > 0 && size+int64(len(lines)) > f.most {
		if err := file.Close(); err != nil { // Windows renames nothing that is open
			return err
		}
		// If the file cannot be renamed, as on Windows while it is read, it grows: that is
		// better than to lose events.
		_ = os.Rename(f.path, before(f.path))
		if file, size, err = openAppending(f.path); err != nil {
			return err
		}
	}
	if torn(file, size) {
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err = file.Write(lines); err != nil {
		_ = file.Truncate(size) // no other process has written meanwhile
	}
	return errors.Join(err, file.Close())
}

// openAppending opens or makes the file, and returns its size.
func openAppending(path string) (*os.File, int64, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is no file but %s", info.Mode().Type())}
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// torn reports whether the last line has no end: a process died while it wrote it.
func torn(file *os.File, size int64) bool {
	if size == 0 {
		return false
	}
	var last [1]byte
	_, err := file.ReadAt(last[:], size-1)
	return err != nil || last[0] != '\n'
}

// before returns the path of the file that was full before the one at path was begun.
func before(path string) string { return path + ".1" }
