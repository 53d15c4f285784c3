package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/mcpbelt/mcpbelt/storage"
)

// An Error reports what the file system did not do, and its cure. The former content is
// still kept. Errors that package storage has names for, such as storage.ErrConflict, and
// the end of a context are not wrapped in it.
type Error struct {
	// Op is what was to be done: "open", "load", "save", "delete", "list" or
	// "lock".
	Op string
	// Dir is the folder of the store.
	Dir string
	// Record is the name of the record; it may be empty.
	Record string
	// Cure says what would help; it may be empty.
	Cure string
	// Err is the cause, such as syscall.ENOSPC in an *fs.PathError.
	Err error
}

func (e *Error) Error() string {
	text := "filestore: " + e.Op
	if e.Record != "" {
		text += fmt.Sprintf(" record %q", e.Record)
	}
	text += fmt.Sprintf(" in %q: %v", e.Dir, e.Err)
	if e.Cure != "" {
		text += "; " + e.Cure
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// fail makes an *Error, unless err says enough already.
func (f *folder) fail(op, record string, err error) error {
	switch {
	case err == nil || plain(err):
		return err
	case errors.Is(err, os.ErrClosed) && f.closed.Load():
		return storage.ErrClosed
	}
	var made *Error
	if errors.As(err, &made) {
		return err
	}
	return &Error{Op: op, Dir: f.dir, Record: record, Cure: cureOf(err), Err: err}
}

// plain reports whether an error is not about the file system.
func plain(err error) bool {
	for _, target := range []error{
		storage.ErrNotFound, storage.ErrConflict, storage.ErrDamaged, storage.ErrClosed, storage.ErrName, storage.ErrTooLarge,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func cureOf(err error) string {
	switch {
	case full(err):
		return "make room there"
	case errors.Is(err, syscall.EROFS):
		return "use a folder that can be written to"
	case errors.Is(err, fs.ErrPermission):
		return "make the folder and all in it belong to the user that runs the program"
	case errors.Is(err, errNewer):
		return "update this program"
	}
	return ""
}
