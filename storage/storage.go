package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"time"
)

// ErrNotFound reports that there is no record of that name.
//
//cure:none is needed where a record may be missing
var ErrNotFound = errors.New("no such record")

// ErrConflict reports that a record has another revision than the caller knows.
//
//cure:load the record, and change what is there now
var ErrConflict = errors.New("the record was changed meanwhile")

// ErrDamaged reports bytes that are not those that were saved. A store that can tell moves
// them aside, so that they can be examined; from then on there is no such record.
//
//cure:look at what the store moved aside; write the record again
var ErrDamaged = errors.New("the record is damaged")

// ErrName reports a name that no record can have.
//
//cure:take a name as CheckName allows it
var ErrName = errors.New("not a name of a record")

// ErrReadOnly reports a place that cannot be written to, now or later.
//
//cure:give the process a place that it may write to
var ErrReadOnly = errors.New("the store cannot be written")

// ErrTooLarge reports more than MaxData bytes.
//
//cure:keep less in one record
var ErrTooLarge = errors.New("the record is too large")

// ErrHeld reports that another caller holds a lease.
//
//cure:try again when the lease of the other has ended
var ErrHeld = errors.New("another caller holds the lease")

// ErrLost reports a lease that has expired, was released, or was taken by another caller since.
//
//cure:stop what the lease was for, and acquire it again
var ErrLost = errors.New("the lease was lost")

// ErrClosed reports a call after Close.
//
//cure:open the store again
var ErrClosed = errors.New("the store is closed")

const (
	// MaxName bounds the name of a record, in bytes.
	MaxName = 128
	// MaxData bounds what is kept under one name, in bytes: a ledger of 10,000 tools has
	// 11 MB.
	MaxData = 128 << 20
)

// A Revision is one state of one record. The zero value means that there is no
// record.
type Revision string

// A Record is what is kept under one name.
type Record struct {
	// Data are the bytes. They belong to the caller. See [Store].Load about nil.
	Data []byte
	// Revision tells them from all other bytes that were ever kept there, also
	// before the record was deleted.
	Revision Revision
}

// A Store keeps records of at most MaxData bytes. Names are as [CheckName] wants
// them. All methods are safe for concurrent use, also by several processes. They
// return soon after ctx ends, and do nothing if it has ended before. Their errors
// wrap ctx's error or those above, where these fit.
type Store interface {
	// Load returns the record of a name, or ErrNotFound, or ErrDamaged. If the record
	// has the revision known, its Data are nil: the caller has them. An empty known
	// asks for the data in any case.
	Load(ctx context.Context, name string, known Revision) (Record, error)
	// Save replaces the record if its revision is still old, and returns the
	// new revision; otherwise it changes nothing and returns ErrConflict. When
	// it returns, the record would survive a loss of power, as far as the medium
	// can promise that. After any other error either the old record or the new
	// one is kept, never less. It does not keep or change data.
	Save(ctx context.Context, name string, data []byte, old Revision) (Revision, error)
	// Delete removes the record if its revision is still old; otherwise it
	// returns ErrConflict, or ErrNotFound if there is none.
	Delete(ctx context.Context, name string, old Revision) error
	// Names yields the names of the records that begin with prefix, in no
	// order, each once. Records that come or go meanwhile may be among them or
	// not. It ends with the first error. The loop may use the store.
	Names(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Close frees what the store holds. Records remain. Other methods return
	// ErrClosed from then on. Locks stay until they are unlocked. Further calls
	// do nothing.
	Close() error
}

// A Locker is a Store that can lock names across processes. It is optional.
type Locker interface {
	// Lock waits until no other caller holds the lock of a name, or until ctx
	// ends. Locks end with their process. They are advisory: Save and Delete
	// do not ask for them. A lock may be held for half a minute, and does not
	// hold up other names. Calls of unlock after the first do nothing.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

// A Watcher is a Store that tells when its records change. It is optional.
type Watcher interface {
	// Watch yields the names of the records that begin with prefix and have changed, come or
	// gone, by whichever process: each change at least once, several changes of one
	// record as one, in no order, within 3 seconds. The empty name stands for all records: it comes
	// first, since they may have changed before, and whenever the store cannot tell which
	// have. While the place of the store cannot be reached, Watch waits, and tells later
	// what has changed meanwhile. The loop may use the store, and may take its time. It ends
	// with an error, that of ctx or ErrClosed.
	Watch(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// A Leaser is a Store that gives each name to one caller for a time, across processes. It is optional.
// Leases end by the clock of the place, whatever the clocks of the callers say. They are
// advisory, and no records.
//
// A caller that was stopped for a while may act on a lease that has ended before it asks again. So
// each lease has a number, and whoever is told to act may refuse a number below one seen
// before.
type Leaser interface {
	// TakeLease takes the lease of a name for a time. The number is greater than that of all
	// earlier leases of the name. The error is ErrHeld if the last one has not ended.
	TakeLease(ctx context.Context, name string, ttl time.Duration) (number int64, err error)
	// RenewLease has a lease end that time from now. The error is ErrLost if it has ended already,
	// also if no other caller has taken it since.
	RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error
	// ReleaseLease ends a lease. The error is ErrLost if it has ended already.
	ReleaseLease(ctx context.Context, name string, number int64) error
}

// CheckName returns an error that wraps ErrName unless name is the name of a
// record: 1 to MaxName letters a to z, digits, and "-", "_" or "." inside.
func CheckName(name string) error {
	if len(name) > MaxName || !validName.MatchString(name) {
		return fmt.Errorf("%w: %.*q", ErrName, MaxName, name)
	}
	return nil
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)
