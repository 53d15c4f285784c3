package seal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A Store keeps records in a driver's place, sealed. Make one with [NewStore], or with
// session.Memory. It is safe for concurrent use, also by several processes that share the
// place.
//
// A program opens and closes it, and calls Rotate; the other methods are those that a
// session.Manager calls.
type Store struct {
	driver storage.Store
	source KeySource
	keys   atomic.Pointer[keyset] // a pointer, so that printing a Store shows no key
}

var (
	_ storage.Store   = (*Store)(nil)
	_ storage.Watcher = (*Store)(nil)
	_ storage.Locker  = (*Store)(nil)
)

var errZeroStore = errors.New("seal: the zero Store is not usable: make it with NewStore")

// reserved is what the names of the Store's own records begin with.
const reserved = "store."

// A version tells one state of a record from all others: that of the driver, with a number that
// counts the states of the record. It is sealed with the record, and kept by Rotate.
type version struct {
	revision   storage.Revision
	generation uint64
}

// outside returns a version as callers know it.
func (v version) outside() storage.Revision {
	return storage.Revision(strconv.FormatUint(v.generation, 10) + "." + string(v.revision))
}

// inside returns a version that outside has returned. Of any other text it makes one that no
// record has.
func inside(at storage.Revision) version {
	count, revision, _ := strings.Cut(string(at), ".")
	generation, err := strconv.ParseUint(count, 10, 64)
	if err != nil {
		return version{revision: at}
	}
	return version{storage.Revision(revision), generation}
}

// NewStore returns a Store over a driver. Closing it closes the driver; with an
// error, that stays the caller's. It asks source for the keys and makes sure that they are those of what is kept
// there; if not, the error is a *KeyError.
//
// Records are sealed with XChaCha20-Poly1305, each bound to its name and
// generation: one that was altered, or put in the place of another, is not read.
// An attacker who can write to the driver's place can still bring back an older state, or
// delete it. Names, sizes and times are not hidden.
func NewStore(ctx context.Context, d storage.Store, source KeySource) (*Store, error) {
	if source == nil {
		return nil, &KeyError{Problem: "there is no key source"}
	}
	if nils.Is(d) {
		return nil, errors.New("seal: NewStore: the driver is nil")
	}
	s := &Store{driver: d, source: source}
	if err := s.unlock(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// usable returns an error if the Store is nil or zero.
func (s *Store) usable() error {
	if s == nil || s.driver == nil {
		return errZeroStore
	}
	return nil
}

// ask asks the source for the keys.
func (s *Store) ask(ctx context.Context) (*keyset, error) {
	k, err := s.source(ctx)
	if err == nil {
		err = k.check()
	}
	if err != nil {
		return nil, err
	}
	return newKeyset(k), nil
}

// check returns an error unless the Store is usable and name one for records of its user.
func (s *Store) check(name string) error {
	if err := s.usable(); err != nil {
		return err
	}
	if strings.HasPrefix(name, reserved) {
		return fmt.Errorf("seal: record %q: %w: reserved", name, storage.ErrName)
	}
	return nil
}

// Load implements [storage.Store]. The error is a *CorruptError if the record cannot be opened, or
// a *KeyError if its key is unknown. With these two, the revision is that of the record if
// the driver still has it, so that it can be replaced or removed.
func (s *Store) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if err := s.check(name); err != nil {
		return storage.Record{}, err
	}
	before := inside(known).revision
	r, err := s.driver.Load(ctx, name, before)
	switch {
	case err != nil:
		return storage.Record{}, wrap(name, err)
	case known != "" && r.Revision == before:
		return storage.Record{Revision: known}, nil
	}
	o, err := s.open(ctx, name, r.Data)
	return storage.Record{Data: o.data, Revision: version{r.Revision, o.generation}.outside()}, err
}

// open opens a record. If its key is unknown, it asks whether there are new ones.
func (s *Store) open(ctx context.Context, name string, sealed []byte) (opened, error) {
	o, err := s.keys.Load().open(forRecord, name, sealed)
	var unknown *KeyError
	if !errors.As(err, &unknown) {
		return o, err
	}
	keys, asked := s.askAgain(ctx)
	if errors.As(asked, &unknown) {
		about := *unknown
		about.record = name
		return opened{}, &about
	}
	if asked != nil {
		return opened{}, asked
	}
	return keys.open(forRecord, name, sealed)
}

// Save implements [storage.Store]. It seals data.
func (s *Store) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if err := s.check(name); err != nil {
		return "", err
	}
	before := inside(old)
	next := version{generation: before.generation + 1}
	sealed := s.keys.Load().seal(forRecord, name, opened{data: data, generation: next.generation})
	var err error
	next.revision, err = s.driver.Save(ctx, name, sealed, before.revision)
	if err != nil {
		return "", wrap(name, err)
	}
	return next.outside(), nil
}

// Delete implements [storage.Store].
func (s *Store) Delete(ctx context.Context, name string, old storage.Revision) error {
	if err := s.check(name); err != nil {
		return err
	}
	return wrap(name, s.driver.Delete(ctx, name, inside(old).revision))
}

// Names implements [storage.Store].
func (s *Store) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := s.usable(); err != nil {
			yield("", err)
			return
		}
		for name, err := range s.driver.Names(ctx, prefix) {
			if err != nil {
				yield("", fmt.Errorf("seal: list of records: %w", err))
				return
			}
			if !strings.HasPrefix(name, reserved) && !yield(name, nil) {
				return
			}
		}
	}
}

// Watch implements [storage.Watcher]. If the driver is none, it tells every 3 seconds that all records
// may have changed.
func (s *Store) Watch(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := s.usable(); err != nil {
			yield("", err)
			return
		}
		for name, err := range document.Watch(ctx, s.driver, prefix) {
			if err != nil {
				err = fmt.Errorf("seal: watch of records: %w", err)
			}
			if !strings.HasPrefix(name, reserved) && !yield(name, err) {
				return
			}
		}
	}
}

// wrap says which record an error of the driver is about.
func wrap(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrDamaged):
		return &CorruptError{name: name, problem: "it is damaged", err: err}
	}
	return fmt.Errorf("seal: record %q: %w", name, err)
}

// Close closes the driver. The records remain.
func (s *Store) Close() error {
	if s.usable() != nil {
		return nil
	}
	return s.driver.Close()
}

// A CorruptError reports a record that cannot be opened: it was altered, belongs to
// another name, or has a format that this program does not know; then it wraps
// [ErrFormat]. The error shows nothing of what is in the record.
//
//cure:none brings the record back: let the user log in again
type CorruptError struct {
	// name is the name of the record in the store.
	name string

	problem string // what is wrong
	err     error  // such as the driver's; it may be nil
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("seal: record %q cannot be read: %s", e.name, e.problem)
}

// Unwrap returns the cause, such as the driver's error.
func (e *CorruptError) Unwrap() error { return e.err }
