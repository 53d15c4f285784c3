package session

import (
	"context"
	"errors"
	"iter"

	"github.com/mcpbelt/mcpbelt/session/driver"
)

// A Store keeps sessions in a driver's place, sealed. It is safe for concurrent
// use, also by several processes.
type Store struct{ driver driver.Store }

// A version tells one state of a record from others.
type version struct {
	revision   driver.Revision
	generation uint64 // counts the states of the record; sealed with it
}

// load returns the record of a name; the error wraps driver.ErrNotFound if there
// is none, and is a *CorruptError if it cannot be opened.
func (s *Store) load(ctx context.Context, name string) (data []byte, at version, err error) {
	return nil, version{}, errors.New("not implemented")
}

// save replaces the state old of a record; the error wraps driver.ErrConflict if
// it has another. The zero version means that there must be none.
func (s *Store) save(ctx context.Context, name string, data []byte, old version) (version, error) {
	return version{}, errors.New("not implemented")
}

// remove deletes the state old of a record.
func (s *Store) remove(ctx context.Context, name string, old version) error {
	return errors.New("not implemented")
}

// names yields the names that begin with prefix.
func (s *Store) names(ctx context.Context, prefix string) iter.Seq2[string, error] { return nil }

// lock locks a name across processes. If the driver cannot, locked is false and
// unlock does nothing.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), locked bool, err error) {
	return func() {}, false, nil
}

// Close closes the driver.
func (s *Store) Close() error { return s.driver.Close() }
