package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
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

// RestoreRecord takes back that the record of an ID was deleted, and returns it. Its name
// must not become that of another server, see [Record.ServerName]. The error is of
// [*RecordError]s, or of the store; of [CodeNotFound] too if the store is no [Archive].
func RestoreRecord(ctx context.Context, store Store, id string) (Stored, error) {
	archive, ok := store.(Archive)
	if !ok {
		return Stored{}, &RecordError{Code: CodeNotFound, Name: id}
	}
	deleted, err := archive.Deleted(ctx)
	if err != nil {
		return Stored{}, err
	}
	i := slices.IndexFunc(deleted, func(s Stored) bool { return s.ID == id })
	if i < 0 {
		return Stored{}, &RecordError{Code: CodeNotFound, Name: id}
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
	return FindRecord(ctx, store, id)
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

// A history is what a store knows of its records beside what they say.
type history struct {
	known   map[string]origin // by name
	deleted []Stored          // the oldest first
}

// An origin is what is known of one record.
type origin struct {
	id               string
	created, updated time.Time
}

// identify gives the records of a store their IDs and times.
func (h *history) identify(all []Stored) []Stored {
	taken := h.taken()
	for i := range all {
		s := &all[i]
		o, ok := h.known[s.Record.Name]
		if !ok {
			o.id = idOf(s.Record.Name, func(id string) bool { return taken[id] })
			taken[o.id] = true
		}
		s.ID, s.Created, s.Updated = o.id, o.created, o.updated
	}
	return all
}

// taken returns the IDs that records have, or have had.
func (h *history) taken() map[string]bool {
	taken := map[string]bool{}
	for _, o := range h.known {
		taken[o.id] = true
	}
	for _, s := range h.deleted {
		taken[s.ID] = true
	}
	return taken
}

// saved notes that the record called name is called next from now on; all are those
// before, with their IDs. An empty name adds one.
func (h *history) saved(all []Stored, name, next string) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	h.settle(all)
	o := origin{created: now}
	if i := slices.IndexFunc(all, func(s Stored) bool { return name != "" && s.Record.Name == name }); i >= 0 {
		o = origin{id: all[i].ID, created: all[i].Created}
	} else {
		taken := h.taken()
		for _, s := range all {
			taken[s.ID] = true
		}
		o.id = idOf(next, func(id string) bool { return taken[id] })
	}
	o.updated = now
	delete(h.known, name)
	h.know(next, o)
}

func (h *history) know(name string, o origin) {
	if h.known == nil {
		h.known = map[string]origin{}
	}
	h.known[name] = o
}

// settle forgets what was removed by others, who keep nothing, and makes sure that the
// records that are there keep their IDs.
func (h *history) settle(all []Stored) {
	for _, s := range all {
		h.know(s.Record.Name, origin{s.ID, s.Created, s.Updated})
	}
	for name := range h.known {
		if !slices.ContainsFunc(all, func(s Stored) bool { return s.Record.Name == name }) {
			delete(h.known, name)
		}
	}
}

// removed notes that the record at an index of all, which are those before, was deleted.
func (h *history) removed(all []Stored, i int) {
	h.settle(all)
	s := all[i]
	s.Deleted = time.Now().UTC().Truncate(time.Microsecond)
	delete(h.known, s.Record.Name)
	h.deleted = append(h.deleted, s)
	h.deleted = h.deleted[max(0, len(h.deleted)-maxArchived):]
}

// find returns the index of a deleted record of that ID.
func (h *history) find(id string) (int, error) {
	i := slices.IndexFunc(h.deleted, func(s Stored) bool { return s.ID == id })
	if i < 0 {
		return 0, &RecordError{Code: CodeNotFound, Name: id}
	}
	return i, nil
}

// restored notes that the deleted record at an index is there again.
func (h *history) restored(i int) {
	s := h.deleted[i]
	h.know(s.Record.Name, origin{id: s.ID, created: s.Created, updated: time.Now().UTC().Truncate(time.Microsecond)})
	h.deleted = slices.Delete(slices.Clone(h.deleted), i, i+1)
}

// gone returns the deleted records that are not there, since a deletion that was noted
// may have failed.
func (h *history) gone(all []Stored) []Stored {
	there := map[string]bool{}
	for _, s := range all {
		there[s.ID] = true
	}
	var list []Stored
	for _, s := range h.deleted {
		if !there[s.ID] {
			s.Record = s.Record.clone()
			list = append(list, s)
		}
	}
	return list
}
