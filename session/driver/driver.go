package driver

import (
	"context"
	"errors"
	"iter"
)

// ErrNotFound reports that there is no record of that name.
var ErrNotFound = errors.New("no such record")

// ErrConflict reports that a record has another revision than the caller knows.
var ErrConflict = errors.New("the record was changed by somebody else")

// A Revision is one state of one record. The zero value means that there is no
// record.
type Revision string

// A Record is what is kept under one name.
type Record struct {
	// Data are the bytes. They belong to who got them.
	Data []byte
	// Revision tells them from all other bytes that were ever kept there.
	Revision Revision
}

// A Store keeps records. Names are 1 to 128 letters a to z, digits, and "-", "_"
// or "." inside. All methods are safe for concurrent use, also by several
// processes, return soon after ctx ends, and wrap the errors above.
type Store interface {
	// Load returns the record of a name, or ErrNotFound.
	Load(ctx context.Context, name string) (Record, error)
	// Save replaces the record if its revision is still old, and returns the
	// new revision; otherwise it changes nothing and returns ErrConflict. When
	// it returns, the record would survive a loss of power, as far as the medium
	// can promise that. After any other error either the old record or the new
	// one is kept, never less.
	Save(ctx context.Context, name string, data []byte, old Revision) (Revision, error)
	// Delete removes the record if its revision is still old; otherwise it
	// returns ErrConflict, or ErrNotFound if there is none.
	Delete(ctx context.Context, name string, old Revision) error
	// Names yields the names of the records that begin with prefix, in no
	// order. It ends with the first error.
	Names(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Close frees what the store holds. Records remain.
	Close() error
}

// A Locker is a Store that can lock names across processes. It is optional.
type Locker interface {
	// Lock waits until nobody else holds the lock of a name, or until ctx
	// ends. Locks end with their process. They are advisory: Save and Delete
	// do not ask for them.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}
