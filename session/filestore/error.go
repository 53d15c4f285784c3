package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mcpbelt/mcpbelt/storage"
)

// An Error reports what the file system did not do. The former content is
// still kept. Errors that package storage has names for, such as storage.ErrConflict, and
// the end of a context are not wrapped in it.
//
//cure:see the wrapped error: make room, or give the user of the process the folder
type Error struct {
	// op is what was to be done: "open", "load", "save", "delete", "list" or
	// "lock".
	op string
	// dir is the folder of the store.
	dir string
	// record is the name of the record; it may be empty.
	record string
	// Err is the cause, such as syscall.ENOSPC in an *fs.PathError.
	Err error
}

func (e *Error) Error() string {
	text := "filestore: " + e.op
	if e.record != "" {
		text += fmt.Sprintf(" record %q", e.record)
	}
	text += fmt.Sprintf(" in %q: %v", e.dir, e.Err)
	if errors.Is(e.Err, fs.ErrPermission) {
		text += "; make the folder and all in it belong to the user that runs the program"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail makes an *Error, unless err is not about the file system.
func (f *folder) fail(op, record string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, os.ErrClosed) && f.closed.Load() {
		return storage.ErrClosed
	}
	for _, other := range []error{
		storage.ErrNotFound, storage.ErrConflict, storage.ErrDamaged, storage.ErrClosed, storage.ErrName, storage.ErrTooLarge,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, other) {
			return err
		}
	}
	return &Error{op: op, dir: f.dir, record: record, Err: err}
}
