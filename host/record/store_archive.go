package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// maxArchived bounds the deleted records that a store of this package keeps; the oldest
// go.
const maxArchived = 100

// An Archive is a [Store] that gives its records IDs, knows when they were made and
// changed, and keeps those that were deleted. All stores of this library are.
type Archive interface {
	Store
	// Deleted returns the records that were deleted and not restored, the last one at the
	// end, with their secrets. There may be a bound to how many are kept.
	Deleted(ctx context.Context) ([]Stored, error)
	// Restore takes back that the record of an ID was deleted: it is as it was then, with
	// the same ID. If there is none, or it is not deleted, the error is of
	// [CodeNotFound]; if another record has its name, of [CodeNameTaken].
	Restore(ctx context.Context, id string) error
}

// Restore takes back that the record of an ID was deleted, and returns it. Its name
// must not become that of another server, see [Record.ServerName]. The error is of
// [*Error]s, or of the store; of [CodeNotFound] too if the store is no [Archive].
func Restore(ctx context.Context, store Store, id string) (Stored, error) {
	archive, ok := store.(Archive)
	if !ok {
		return Stored{}, &Error{Code: CodeNotFound, Name: id}
	}
	deleted, err := archive.Deleted(ctx)
	if err != nil {
		return Stored{}, err
	}
	i := slices.IndexFunc(deleted, func(s Stored) bool { return s.ID == id })
	if i < 0 {
		return Stored{}, &Error{Code: CodeNotFound, Name: id}
	}
	all, err := recordsOf(ctx, store)
	if err != nil {
		return Stored{}, err
	}
	if err := nameFree(all, deleted[i].Record, ""); err != nil {
		return Stored{}, err
	}
	if err := archive.Restore(ctx, id); err != nil {
		return Stored{}, err
	}
	return Find(ctx, store, id)
}

// isID reports whether text has the form of an ID, which no new record's name has.
func isID(text string) bool { return strings.HasPrefix(text, "~") }

// idOf returns the ID of a record that has had no other name, unless that is taken.
func idOf(name string, taken func(string) bool) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", name, n))
		if id := "~" + hex.EncodeToString(sum[:8]); !taken(id) {
			return id
		}
	}
}
