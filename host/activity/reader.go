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
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

const (
	readChunk = 64 << 10
	// maxLine bounds a line that is read, in bytes; the longest event, each of its
	// characters escaped, is shorter.
	maxLine = 1 << 20
)

// Events yields the events in the file at path that filter wants, which may be nil:
// the newest first, then those of the files that were renamed when they were full.
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
	// The file is opened before the others are listed: if it is renamed in between it
	// is seen twice, and not never.
	var seen fs.FileInfo
	newest, err := os.Open(path)
	if err == nil {
		defer newest.Close()
		if seen, err = newest.Stat(); err != nil {
			return err
		}
		if more, err := readBackwards(newest, seen.Size(), filter, yield); err != nil || !more {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, err := rotatedFiles(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		more, err := readRotated(file, seen, filter, yield)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// readRotated reads a renamed file unless it is the one that was read already, or
// it was deleted meanwhile.
func readRotated(path string, seen fs.FileInfo, filter *Filter, yield func(Event, error) bool) (more bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if seen != nil && os.SameFile(seen, info) {
		return true, nil
	}
	return readBackwards(file, info.Size(), filter, yield)
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

// A Filter says which events are wanted. Its zero value, and nil, mean all.
type Filter struct {
	// Since and Until bound the time: not before Since, and before Until. Zero: no
	// bound.
	Since, Until time.Time
	// Kinds are those wanted; none: all.
	Kinds []Kind
	// Outcomes are those wanted; none: all.
	Outcomes []Outcome
	// ID, Parent, User, Server and Tool have to be equal; empty: any.
	ID, Parent, User, Server, Tool string
}

// Match reports whether an event is wanted.
func (f *Filter) Match(e *Event) bool {
	if f == nil {
		return true
	}
	return (f.Since.IsZero() || !e.Time.Before(f.Since)) &&
		(f.Until.IsZero() || e.Time.Before(f.Until)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(len(f.Outcomes) == 0 || slices.Contains(f.Outcomes, e.Outcome)) &&
		wants(f.ID, e.ID) && wants(f.Parent, e.Parent) && wants(f.User, e.User) &&
		wants(f.Server, e.Server) && wants(f.Tool, e.Tool)
}

func wants(want, value string) bool { return want == "" || want == value }
