package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// The defaults of [FileOptions].
const (
	// DefaultMaxBytes is how large a file becomes if MaxBytes is zero.
	DefaultMaxBytes = 16 << 20
	// DefaultKeepFiles is how many full files stay if KeepFiles is zero.
	DefaultKeepFiles = 20
)

const (
	fileMode   = 0o600
	folderMode = 0o700
)

// FileOptions configure a [File]. The zero value, and nil, mean the defaults.
type FileOptions struct {
	// MaxBytes is how large the file may become. Before it would be larger it is
	// renamed and a new one begun; one Write is not divided. Default:
	// [DefaultMaxBytes].
	MaxBytes int64
	// MaxAge is how old the first event of the file may become before a new file is
	// begun, when there is something to write. Default: any age.
	MaxAge time.Duration
	// KeepFiles is how many renamed files stay; the oldest are deleted. Default:
	// [DefaultKeepFiles]. Negative: all.
	KeepFiles int
	// KeepBytes bounds the renamed files together. Default: no bound.
	KeepBytes int64
	// KeepAge is how long renamed files stay. It is looked at when a file is renamed,
	// and every hour in which something is written. Default: for ever.
	KeepAge time.Duration
	// Sync has each Write return when what it wrote would survive a loss of power.
	// Without it some seconds may be lost then, and nothing when the program dies.
	Sync bool
}

// A File is a [Sink] that appends events to a file, one JSON object a line. When the
// file is full it is renamed, so that the time stands in its name:
// activity-20261122T003000.000000000Z.jsonl.
//
// Several processes may write to one file: each locks its folder while it writes, and
// keeps nothing open meanwhile, so that the file may also be renamed or deleted by
// others. A process that is killed leaves at most one line that is not whole; the
// next Write ends it, and readers pass over it. It is safe for concurrent use, and
// there is nothing to close.
type File struct {
	path string
	opts FileOptions

	mu     sync.Mutex // held while written
	tidied time.Time  // when renamed files were last looked at
}

// OpenFile returns a sink that appends to the file at path. It makes the file, with
// mode 0600, and its folder, with mode 0700, if they are missing; a file that there
// is keeps its mode. It fails if the file cannot be written.
func OpenFile(path string, opts *FileOptions) (*File, error) {
	f := &File{path: path}
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.MaxBytes <= 0 {
		f.opts.MaxBytes = DefaultMaxBytes
	}
	if f.opts.KeepFiles == 0 {
		f.opts.KeepFiles = DefaultKeepFiles
	}
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, f.failed(err)
	}
	resolved, err := atomicfile.Resolve(path)
	if err != nil {
		return nil, f.failed(err)
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
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
	if f.full(file, size, int64(len(lines))) {
		if err := file.Close(); err != nil { // Windows renames nothing that is open
			return err
		}
		f.rotate()
		if file, size, err = openAppending(f.path); err != nil {
			return err
		}
	} else if time.Since(f.tidied) > time.Hour {
		f.tidy()
	}
	if torn(file, size) {
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err = file.Write(lines); err != nil {
		_ = file.Truncate(size) // nobody else has written meanwhile
	} else if f.opts.Sync {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
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

// torn reports whether the last line has no end: somebody died while he wrote it.
func torn(file *os.File, size int64) bool {
	if size == 0 {
		return false
	}
	var last [1]byte
	_, err := file.ReadAt(last[:], size-1)
	return err != nil || last[0] != '\n'
}

// full reports whether a new file has to be begun before more bytes are written.
func (f *File) full(file *os.File, size, more int64) bool {
	switch {
	case size == 0:
		return false
	case size+more > f.opts.MaxBytes:
		return true
	case f.opts.MaxAge <= 0:
		return false
	}
	began, ok := firstTime(file)
	return ok && time.Since(began) > f.opts.MaxAge
}

// firstTime returns the time of the first event in a file. It is what an event
// begins with.
func firstTime(file *os.File) (time.Time, bool) {
	var head [64]byte
	n, _ := file.ReadAt(head[:], 0)
	text, ok := bytes.CutPrefix(head[:n], []byte(`{"time":"`))
	if !ok {
		return time.Time{}, false
	}
	text, _, ok = bytes.Cut(text, []byte{'"'})
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	return t, err == nil
}
