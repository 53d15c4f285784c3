package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/storage"
)

// maxDeleted bounds the deleted records that are kept; the oldest go.
const maxDeleted = 100

// A keptStore is a [Store] of one document.
type keptStore struct{ kept *document.Value[catalogue] }

// A catalogue is what a keptStore keeps. It is never changed.
type catalogue struct {
	records []Stored
	deleted []Stored // the oldest first
}

// NewStore returns the store of the records that are kept in a storage.Store under a name,
// see [storage.CheckName], such as "servers". They are kept together, at most
// storage.MaxData bytes, with their secrets as the records have them, in clear. Of those
// that were deleted the last 100 are kept.
func NewStore(store storage.Store, name string) Store {
	return &keptStore{document.New(store, name, decodeCatalogue, catalogue.encode)}
}

// NewMemoryStore returns a store that holds the records, which have different names.
// It keeps copies of them, and panics if one is nil or cannot be kept.
func NewMemoryStore(records ...*config.Server) Store {
	s := NewStore(storage.NewMemory(), "servers")
	for _, r := range records {
		if _, err := s.Save(context.Background(), "", r, ""); err != nil {
			panic("record: NewMemoryStore: " + err.Error())
		}
	}
	return s
}

// change changes a copy of the catalogue, again if another process was faster.
func (s *keptStore) change(ctx context.Context, edit func(*catalogue) error) error {
	return failKept(s.kept.Change(ctx, func(c catalogue) (catalogue, bool, error) {
		c.records, c.deleted = slices.Clone(c.records), slices.Clone(c.deleted)
		err := edit(&c)
		return c, err == nil, err
	}))
}

// failKept says what an error of the store is about.
func failKept(err error) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	return fmt.Errorf("record: the kept servers: %w", err)
}

func (s *keptStore) load(ctx context.Context) (catalogue, error) {
	c, err := s.kept.Load(ctx)
	return c, failKept(err)
}

// Records implements [Store].
func (s *keptStore) Records(ctx context.Context) ([]Stored, error) {
	c, err := s.load(ctx)
	return cloneAll(c.records), err
}

// Deleted implements [Store].
func (s *keptStore) Deleted(ctx context.Context) ([]Stored, error) {
	c, err := s.load(ctx)
	return cloneAll(c.deleted), err
}

func cloneAll(all []Stored) []Stored {
	all = slices.Clone(all)
	for i := range all {
		all[i].Record = Of(all[i].Record)
	}
	return all
}

// Save implements [Store].
func (s *keptStore) Save(ctx context.Context, name string, r *config.Server, old Revision) (saved Revision, err error) {
	if r == nil {
		return "", errNoRecord
	}
	err = s.change(ctx, func(c *catalogue) error {
		r := Of(r)
		at, err := PlaceOf(c.records, name, r.Title, old)
		if err != nil {
			return err
		}
		made := now()
		if at < 0 {
			at = len(c.records)
			c.records = append(c.records, Stored{ID: "~" + strings.ToLower(rand.Text()), Created: made})
		}
		s := &c.records[at]
		saved = newRevision()
		s.Record, s.Revision, s.Updated = r, saved, made
		return nil
	})
	return saved, err
}

// Delete implements [Store].
func (s *keptStore) Delete(ctx context.Context, name string, old Revision) error {
	return s.change(ctx, func(c *catalogue) error {
		at, err := indexOf(c.records, name, old)
		if err != nil {
			return err
		}
		gone := c.records[at]
		gone.Deleted = now()
		c.records = slices.Delete(c.records, at, at+1)
		c.deleted = append(c.deleted, gone)
		c.deleted = c.deleted[max(0, len(c.deleted)-maxDeleted):]
		return nil
	})
}

// Restore implements [Store].
func (s *keptStore) Restore(ctx context.Context, id string) error {
	return s.change(ctx, func(c *catalogue) error {
		at := slices.IndexFunc(c.deleted, func(d Stored) bool { return d.ID == id })
		if at < 0 {
			return &Error{Code: CodeNotFound, Name: id}
		}
		back := c.deleted[at]
		if _, err := PlaceOf(c.records, "", back.Record.Title, ""); err != nil {
			return err
		}
		back.Deleted, back.Updated, back.Revision = time.Time{}, now(), newRevision()
		c.deleted = slices.Delete(c.deleted, at, at+1)
		c.records = append(c.records, back)
		return nil
	})
}

func newRevision() Revision { return Revision(rand.Text()) }

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

type wireCatalogue struct {
	Version int          `json:"version"` // catalogueVersion
	Servers []wireStored `json:"servers"`
	Deleted []wireStored `json:"deleted,omitempty"`
}

const catalogueVersion = 1

type wireStored struct {
	Stored
	Record json.RawMessage `json:"record"`
}

func (c catalogue) encode() ([]byte, error) {
	w := wireCatalogue{Version: catalogueVersion}
	for _, list := range []struct {
		from []Stored
		to   *[]wireStored
	}{{c.records, &w.Servers}, {c.deleted, &w.Deleted}} {
		for _, s := range list.from {
			encoded, err := Encode(s.Record)
			if err != nil {
				return nil, fmt.Errorf("server %q: %w", s.Record.Title, err)
			}
			*list.to = append(*list.to, wireStored{s, encoded})
		}
	}
	return canonjson.Marshal(w)
}

// decodeCatalogue reads what encode returned. Its errors hold no secret.
func decodeCatalogue(data []byte) (c catalogue, err error) {
	var w wireCatalogue
	if json.Unmarshal(data, &w) != nil || w.Version < 1 {
		return c, errors.New("they are damaged: restore them from a backup")
	}
	if w.Version > catalogueVersion {
		return c, fmt.Errorf("they have version %d, which a later version of this program has written; use that one", w.Version)
	}
	for _, list := range []struct {
		from []wireStored
		to   *[]Stored
	}{{w.Servers, &c.records}, {w.Deleted, &c.deleted}} {
		for _, s := range list.from {
			r, err := Decode(s.Record)
			if err != nil {
				return catalogue{}, fmt.Errorf("the record of the ID %q: %w", s.ID, err)
			}
			s.Stored.Record = r
			*list.to = append(*list.to, s.Stored)
		}
	}
	return c, nil
}

// PlaceOf returns where [Store.Save] puts a record called next in the place of that
// called name: an index, or -1 for the end.
func PlaceOf(records []Stored, name, next string, old Revision) (int, error) {
	at := -1
	if name != "" || old != "" {
		var err error
		if at, err = indexOf(records, name, old); err != nil {
			return 0, err
		}
	}
	for i, s := range records {
		if i != at && s.isCalled(next) {
			return 0, &Error{Code: CodeNameTaken, Name: next}
		}
	}
	return at, nil
}

// indexOf returns the index of the record of that name and revision.
func indexOf(records []Stored, name string, old Revision) (int, error) {
	at := slices.IndexFunc(records, func(s Stored) bool { return s.isCalled(name) })
	switch {
	case at < 0:
		return 0, &Error{Code: CodeNotFound, Name: name}
	case records[at].Revision != old:
		return 0, &Error{Code: CodeConflict, Name: name}
	}
	return at, nil
}
