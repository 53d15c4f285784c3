package seal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/storage"
)

// keysRecord is the name of the record that says which keys a store has. It is
// the only one that is not sealed.
const keysRecord = reserved + "keys"

// keysFormat is the version of keyInfo.
const keysFormat = 1

// keyInfo is what keysRecord holds.
type keyInfo struct {
	Format int `json:"format"`
	// Check is a sealed constant. It is sealed again by Rotate only: as long as
	// it is sealed with an old key, records may be.
	Check []byte `json:"check"`
}

const checkText = "these are the keys of this store"

// unlock gets the keys of the store, and makes sure that they are the right ones.
func (s *Store) unlock(ctx context.Context) error {
	for {
		info, _, err := s.loadInfo(ctx)
		if err == nil {
			_, err = s.takeKeys(ctx, info)
			return err
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		err = s.create(ctx)
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		// Another process was faster.
	}
}

// loadInfo returns what keysRecord holds.
func (s *Store) loadInfo(ctx context.Context) (*keyInfo, storage.Revision, error) {
	if err := s.usable(); err != nil {
		return nil, "", err
	}
	r, err := s.driver.Load(ctx, keysRecord, "")
	if err != nil {
		return nil, "", wrap(keysRecord, err)
	}
	var info keyInfo
	if err := json.Unmarshal(r.Data, &info); err != nil {
		return nil, "", &CorruptError{name: keysRecord, problem: "it is not JSON"}
	}
	if info.Format != keysFormat {
		return nil, "", &CorruptError{name: keysRecord, problem: fmt.Sprintf(
			"it has format %d, and this program knows only %d", info.Format, keysFormat)}
	}
	return &info, r.Revision, nil
}

// takeKeys asks for the keys and takes them if they open the check.
func (s *Store) takeKeys(ctx context.Context, info *keyInfo) (*keyset, error) {
	keys, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	check, err := keys.open(forCheck, keysRecord, info.Check)
	switch {
	case errors.As(err, new(*KeyError)):
		return nil, &KeyError{Problem: "the store was sealed with another one; if the key was replaced, return the one before as an old one until Rotate has run"}
	case err != nil:
		return nil, err
	case string(check.data) != checkText:
		return nil, &CorruptError{name: keysRecord, problem: "its check is another one"}
	}
	s.keys.Store(keys)
	return keys, nil
}

// askAgain asks for the keys of an open store. Keys of another store are not taken:
// what would be sealed with them could be lost.
func (s *Store) askAgain(ctx context.Context) (*keyset, error) {
	info, _, err := s.loadInfo(ctx)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, &KeyError{Problem: "the record that tells which keys the store has is missing"}
	}
	if err != nil {
		return nil, err
	}
	return s.takeKeys(ctx, info)
}

// create makes the keysRecord of a new store. If records are there without it,
// the keys have to open them.
func (s *Store) create(ctx context.Context) error {
	keys, err := s.ask(ctx)
	if err != nil {
		return err
	}
	s.keys.Store(keys)
	if err := s.tryRecord(ctx); err != nil {
		if _, _, now := s.loadInfo(ctx); now == nil {
			return storage.ErrConflict // it was made meanwhile
		}
		return err
	}
	return s.saveInfo(ctx, keys, "")
}

// tryRecord opens one record, if there is any.
func (s *Store) tryRecord(ctx context.Context) error {
	for name, err := range s.Names(ctx, "") {
		if err != nil {
			return err
		}
		r, err := s.driver.Load(ctx, name, "")
		if err == nil {
			_, err = s.keys.Load().open(forRecord, name, r.Data)
		}
		if errors.As(err, new(*KeyError)) {
			return &KeyError{record: name, Problem: "it is sealed with another one, and the record that tells which keys the store has is missing"}
		}
		if err == nil {
			return nil
		}
	}
	return nil
}

func (s *Store) saveInfo(ctx context.Context, keys *keyset, old storage.Revision) error {
	data, err := json.Marshal(&keyInfo{
		Format: keysFormat, Check: keys.seal(forCheck, keysRecord, opened{data: []byte(checkText)}),
	})
	if err != nil {
		return err
	}
	_, err = s.driver.Save(ctx, keysRecord, data, old)
	return wrap(keysRecord, err)
}

// Rotate asks the key source for the keys and seals with the current one all
// records that were sealed with another. It returns how many those were. Records
// that cannot be read are left as they are, and reported when all others are done.
// With an error, it has done a part, and can be called again.
//
// To replace a key: let the source return the new key as the current one and the
// old key among the old ones, in every process; call Rotate in one of them; then
// take the old key away. Processes that run since before have to be restarted
// or call Rotate, too, before that.
func (s *Store) Rotate(ctx context.Context) (resealed int, err error) {
	keys, err := s.askAgain(ctx)
	if err != nil {
		return 0, err
	}
	var corrupt []error
	for name, err := range s.Names(ctx, "") {
		if err != nil {
			return resealed, err
		}
		done, err := s.reseal(ctx, keys, name)
		switch {
		case errors.As(err, new(*CorruptError)) && !errors.Is(err, ErrFormat):
			corrupt = append(corrupt, err) // no key opens it
		case err != nil:
			return resealed, err
		case done:
			resealed++
		}
	}
	if err := s.recheck(ctx, keys); err != nil {
		return resealed, err
	}
	return resealed, errors.Join(corrupt...)
}

// reseal seals a record with the current key, unless it is already, or is gone.
func (s *Store) reseal(ctx context.Context, keys *keyset, name string) (done bool, err error) {
	for {
		r, err := s.driver.Load(ctx, name, "")
		if errors.Is(err, storage.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, wrap(name, err)
		}
		id, err := keyOf(name, r.Data)
		if err != nil || id == keys.current {
			return false, err
		}
		o, err := keys.open(forRecord, name, r.Data)
		if err != nil {
			return false, err
		}
		_, err = s.driver.Save(ctx, name, keys.seal(forRecord, name, o), r.Revision)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, storage.ErrConflict) {
			return false, wrap(name, err)
		}
	}
}

// recheck seals the check with the current key.
func (s *Store) recheck(ctx context.Context, keys *keyset) error {
	for {
		info, at, err := s.loadInfo(ctx)
		if err != nil {
			return err
		}
		if id, err := keyOf(keysRecord, info.Check); err != nil || id == keys.current {
			return err
		}
		err = s.saveInfo(ctx, keys, at)
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
}
