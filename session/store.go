package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/session/driver"
)

// A Store keeps sessions in a driver's place, sealed. Make one with [NewStore] or
// [Memory]. It is safe for concurrent
// use, also by several processes.
type Store struct {
	driver driver.Store
	source KeySource
	salt   []byte
	keys   atomic.Pointer[keyset] // a pointer, so that printing a Store shows no key
}

var errZeroStore = errors.New("session: the zero Store is not usable: make it with NewStore or Memory")

// reserved is what the names of the Store's own records begin with.
const reserved = "store."

// A version tells one state of a record from others.
type version struct {
	revision   driver.Revision
	generation uint64 // counts the states of the record; sealed with it, and kept by Rotate
}

// NewStore returns a Store over a driver. Closing it closes the driver; with an
// error, that stays the caller's. It asks source for the keys and makes sure that they are those of what is kept
// there; if not, the error is a *KeyError.
//
// Records are sealed with XChaCha20-Poly1305, each bound to its name and
// generation: one that was altered, or put in the place of another, is not read.
// Whoever can write to the driver's place can still bring back an older state, or
// delete it. Names, sizes and times are not hidden.
func NewStore(ctx context.Context, d driver.Store, source KeySource) (*Store, error) {
	if source == nil {
		return nil, &KeyError{Problem: "there is no key source"}
	}
	if nils.Is(d) {
		return nil, errors.New("session: NewStore: the driver is nil")
	}
	s := &Store{driver: d, source: source}
	if err := s.unlock(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Memory returns a Store that keeps sessions no longer than the program runs.
func Memory() *Store {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	s := &Store{driver: driver.NewMemory(), source: StaticKey(auth.Secret(key))}
	_ = s.unlock(context.Background()) // neither the driver nor the source can fail
	return s
}

// ask asks the source for the keys.
func (s *Store) ask(ctx context.Context) (*keyset, error) {
	k, err := s.source(ctx, bytes.Clone(s.salt))
	if err == nil {
		err = k.check()
	}
	if err != nil {
		return nil, err
	}
	return newKeyset(k), nil
}

func checkName(name string) error {
	if strings.HasPrefix(name, reserved) {
		return fmt.Errorf("session: record %q: %w: reserved", name, driver.ErrName)
	}
	return nil
}

// load returns the record of a name; the error wraps driver.ErrNotFound if there
// is none, and is a *CorruptError if it cannot be opened, or a *KeyError if its
// key is unknown. With these two, the version is that of the record if the
// driver still has it, for whoever wants to replace it.
func (s *Store) load(ctx context.Context, name string) (data []byte, at version, err error) {
	if err := checkName(name); err != nil {
		return nil, version{}, err
	}
	r, err := s.driver.Load(ctx, name)
	if err != nil {
		return nil, version{}, wrap(name, err)
	}
	o, err := s.open(ctx, name, r.Data)
	return o.data, version{revision: r.Revision, generation: o.generation}, err
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
		about.Record = name
		return opened{}, &about
	}
	if asked != nil {
		return opened{}, asked
	}
	return keys.open(forRecord, name, sealed)
}

// save replaces the state old of a record; the error wraps driver.ErrConflict if
// it has another. The zero version means that there must be none.
func (s *Store) save(ctx context.Context, name string, data []byte, old version) (version, error) {
	if err := checkName(name); err != nil {
		return version{}, err
	}
	next := version{generation: old.generation + 1}
	sealed := s.keys.Load().seal(forRecord, name, opened{data: data, generation: next.generation})
	var err error
	next.revision, err = s.driver.Save(ctx, name, sealed, old.revision)
	if err != nil {
		return version{}, wrap(name, err)
	}
	return next, nil
}

// remove deletes the state old of a record.
func (s *Store) remove(ctx context.Context, name string, old version) error {
	if err := checkName(name); err != nil {
		return err
	}
	return wrap(name, s.driver.Delete(ctx, name, old.revision))
}

// names yields the names that begin with prefix.
func (s *Store) names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if s == nil || s.driver == nil { // of the zero Manager
			yield("", errZeroStore)
			return
		}
		for name, err := range s.driver.Names(ctx, prefix) {
			if err != nil {
				yield("", fmt.Errorf("session: list of records: %w", err))
				return
			}
			if !strings.HasPrefix(name, reserved) && !yield(name, nil) {
				return
			}
		}
	}
}

// lock locks a name across processes. If the driver cannot, locked is false and
// unlock does nothing.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), locked bool, err error) {
	if err := checkName(name); err != nil {
		return nil, false, err
	}
	l, ok := s.driver.(driver.Locker)
	if !ok {
		return func() {}, false, nil
	}
	unlock, err = l.Lock(ctx, name)
	if err != nil {
		return nil, false, wrap(name, err)
	}
	return unlock, true, nil
}

// wrap says which record an error of the driver is about.
func wrap(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrDamaged):
		return &CorruptError{Name: name, Problem: "it is damaged", Err: err}
	}
	return fmt.Errorf("session: record %q: %w", name, err)
}

// Close closes the driver. What it keeps remains.
func (s *Store) Close() error {
	if s.driver == nil {
		return nil
	}
	return s.driver.Close()
}
