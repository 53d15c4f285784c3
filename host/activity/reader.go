package activity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

const (
	readChunk = 64 << 10
	// maxLine bounds a line that is read, in bytes; the longest event, each of its
	// characters escaped, is shorter.
	maxLine = 1 << 20
)

// Events yields the events in the file at path that filter wants, which may be nil:
// the newest first, then those of the file before it.
// Lines that hold no event are passed over. It ends with the first error; a file that
// is missing is none. Others may write meanwhile: what comes after the beginning is
// not yielded.
func Events(path string, filter *Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := readEvents(path, filter, yield); err != nil {
			yield(Event{}, fmt.Errorf("activity: the log file %s: %w", path, err))
		}
	}
}

// Events is [Events] of this file.
func (f *File) Events(filter *Filter) iter.Seq2[Event, error] { return Events(f.path, filter) }

func readEvents(path string, filter *Filter, yield func(Event, error) bool) error {
	path, err := atomicfile.Resolve(path)
	if err != nil {
		return err
	}
	// Both are opened before one is read, the second last: if the first is renamed in between
	// it is there twice.
	var files []*os.File
	for _, path := range []string{path, before(path)} {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer file.Close()
		files = append(files, file)
	}
	var seen fs.FileInfo
	for _, file := range files {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if seen != nil && os.SameFile(seen, info) {
			continue
		}
		seen = info
		if more, err := readBackwards(file, info.Size(), filter, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

// readBackwards yields the events in the first size bytes of a file, the last first.
// More is false when no further ones are wanted.
func readBackwards(file io.ReaderAt, size int64, filter *Filter, yield func(Event, error) bool) (more bool, err error) {
	var tail []byte  // of a line whose beginning was not read yet
	skipped := false // the end of that line was thrown away, as it is too long
	take := func(line []byte) bool {
		var e Event
		if skipped || json.Unmarshal(line, &e) != nil || e.ID == "" || !filter.Match(&e) {
			skipped = false
			return true
		}
		return yield(e, nil)
	}
	for size > 0 {
		n := min(size, readChunk)
		size -= n
		chunk := make([]byte, n, int(n)+len(tail))
		if _, err := file.ReadAt(chunk, size); err != nil && err != io.EOF {
			return false, err
		}
		data := append(chunk, tail...)
		for {
			at := bytes.LastIndexByte(data, '\n')
			if at < 0 {
				break
			}
			if !take(data[at+1:]) {
				return false, nil
			}
			data = data[:at]
		}
		if tail = slices.Clone(data); len(tail) > maxLine {
			tail, skipped = nil, true
		}
	}
	return take(tail), nil
}
