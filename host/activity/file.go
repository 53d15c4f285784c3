package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

const (
	defaultMaxBytes  = 16 << 20
	defaultKeepFiles = 20

	fileMode   = 0o600
	folderMode = 0o700
)

// FileOptions configure a [File]. The zero value, and nil, mean the defaults.
type FileOptions struct {
	// MaxBytes is how large the file may become. Before it would be larger it is
	// renamed and a new one begun; one Write is not divided. Default: 16 MB.
	// Negative: no limit.
	MaxBytes int64
	// KeepFiles is how many renamed files stay; the oldest are deleted. Default: 20.
	// Negative: all.
	KeepFiles int
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

	mu sync.Mutex // held while written
}

// OpenFile returns a sink that appends to the file at path. It makes the file, with
// mode 0600, and its folder, with mode 0700, if they are missing; a file that there
// is keeps its mode. It fails if the file cannot be written.
func OpenFile(path string, opts *FileOptions) (*File, error) {
	f := &File{path: path}
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.MaxBytes == 0 {
		f.opts.MaxBytes = defaultMaxBytes
	}
	if f.opts.KeepFiles == 0 {
		f.opts.KeepFiles = defaultKeepFiles
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
	if most := f.opts.MaxBytes; most > 0 && size > 0 && size+int64(len(lines)) > most {
		if err := file.Close(); err != nil { // Windows renames nothing that is open
			return err
		}
		f.rotate()
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

// torn reports whether the last line has no end: a process died while it wrote it.
func torn(file *os.File, size int64) bool {
	if size == 0 {
		return false
	}
	var last [1]byte
	_, err := file.ReadAt(last[:], size-1)
	return err != nil || last[0] != '\n'
}

// rotatedTime is how the time stands in the name of a renamed file: names sort as
// times do.
const rotatedTime = "20060102T150405.000000000Z"

// rotatedFiles returns the renamed files of a log file, the newest first. Others
// that are in the folder are not among them.
func rotatedFiles(path string) ([]string, error) {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	stem, ext := stemOf(path)
	var files []string
	for _, entry := range entries {
		name, ok := strings.CutPrefix(entry.Name(), stem+"-")
		if !ok {
			continue
		}
		if name, ok = strings.CutSuffix(name, ext); !ok {
			continue
		}
		at, err := time.Parse(rotatedTime, name)
		if err != nil || at.Format(rotatedTime) != name || !entry.Type().IsRegular() {
			continue
		}
		files = append(files, filepath.Join(folder, entry.Name()))
	}
	slices.Sort(files)
	slices.Reverse(files)
	return files, nil
}

// stemOf divides the name of a log file: activity, .jsonl.
func stemOf(path string) (stem, ext string) {
	name := filepath.Base(path)
	ext = filepath.Ext(name)
	return strings.TrimSuffix(name, ext), ext
}

// rotate renames the file, and deletes renamed ones that are not to stay; one that
// cannot be deleted now is tried the next time. If the file cannot be renamed, as on
// Windows while it is read, it grows: that is better than to lose events. It needs the
// lock of the folder.
func (f *File) rotate() {
	files, err := rotatedFiles(f.path)
	if err != nil {
		return
	}
	at := time.Now().UTC()
	stem, ext := stemOf(f.path)
	rotatedAs := func(at time.Time) string {
		return filepath.Join(filepath.Dir(f.path), stem+"-"+at.Format(rotatedTime)+ext)
	}
	full := rotatedAs(at)
	if len(files) > 0 && full <= files[0] { // the clock was set back, or is coarse
		name, _ := strings.CutPrefix(filepath.Base(files[0]), stem+"-")
		last, err := time.Parse(rotatedTime, strings.TrimSuffix(name, ext))
		if err != nil {
			return
		}
		full = rotatedAs(last.Add(1))
	}
	if os.Rename(f.path, full) != nil || f.opts.KeepFiles < 0 {
		return
	}
	for _, file := range files[min(len(files), f.opts.KeepFiles-1):] { // the new one is not among them
		_ = os.Remove(file)
	}
}
