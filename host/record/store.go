package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// A Revision is one state of one record. The empty one means that there is none.
type Revision string

// A Stored is a record that a [Store] keeps.
type Stored struct {
	Record   *config.Server `json:"-"`                  // as [Of] returns it; the caller must not change it, [Patch.Apply] makes another one
	Revision Revision       `json:"revision,omitempty"` // not empty

	// ID begins with "~" and stays the same when the record is changed or renamed; no
	// other record of the store has it, or has had it.
	ID      string    `json:"id"`
	Created time.Time `json:"created,omitzero"` // zero if it is not known, as that of what stood in a file before
	Updated time.Time `json:"updated,omitzero"` // when it was saved last; zero likewise
	Deleted time.Time `json:"deleted,omitzero"` // zero but for what [Store.Deleted] returns
}

func (s Stored) isCalled(name string) bool { return s.Record != nil && s.Record.Title == name }

// A Store keeps the records of servers, and for some time those that were deleted. There
// are [NewStore] over a storage.Store, [NewMemoryStore], and OpenFileStore of package host/config/edit over a config
// file.
//
// All methods are safe for concurrent use, also by several processes, and return soon
// after ctx ends; they do nothing if it has ended before. Their errors wrap ctx's error
// or are [*Error] values where these fit, and hold no secret. A Store checks no more of
// a record than its name against the others: its user validates.
type Store interface {
	// Records returns all records in an order that stays the same while they do: new
	// ones come last, changed ones keep their place. Each is as it was saved, whatever
	// the store's own form of it: what fields it has, it has to the last character.
	Records(ctx context.Context) ([]Stored, error)
	// Save keeps r in the place of the record that is called name, if that has the
	// revision old, and returns the new revision; r.Title may be another name then. An
	// empty name and an empty old add r. If r.Title is that of another record, the error
	// is of [CodeNameTaken]; if the record has gone, of [CodeNotFound]; if its revision
	// is another one, of [CodeConflict]; nothing is changed then. When it returns, the
	// record would survive a loss of power, as far as the medium can promise that. It
	// keeps [Of] r.
	Save(ctx context.Context, name string, r *config.Server, old Revision) (Revision, error)
	// Delete removes the record that is called name, if it has the revision old. Its
	// errors are those of Save.
	Delete(ctx context.Context, name string, old Revision) error
	// Deleted returns the records that were deleted and not restored, the last one at the
	// end, with their secrets. There may be a bound to how many are kept.
	Deleted(ctx context.Context) ([]Stored, error)
	// Restore takes back that the record of an ID was deleted: it is as it was then, with
	// the same ID. If there is none, or it is not deleted, the error is of
	// [CodeNotFound]; if another record has its name, of [CodeNameTaken].
	Restore(ctx context.Context, id string) error
}

// Find returns the record of that ID or name, or if there is none the one whose
// server has the name; else an error of [CodeNotFound].
func Find(ctx context.Context, store Store, name string) (Stored, error) {
	all, err := recordsOf(ctx, store)
	if err != nil {
		return Stored{}, err
	}
	if s, ok := recordOf(all, name); ok {
		return s, nil
	}
	return Stored{}, &Error{Code: CodeNotFound, Name: name}
}

var errNoStore = errors.New("record: the store is nil")

// recordsOf returns the records of a store.
func recordsOf(ctx context.Context, store Store) ([]Stored, error) {
	if store == nil {
		return nil, errNoStore
	}
	all, err := store.Records(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the servers: %w", err)
	}
	return all, nil
}
