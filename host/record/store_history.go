package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A History is what a store knows of its records beside what they say: their IDs, their
// times, and those that were deleted. The zero History knows nothing. It is not safe for
// concurrent use. As JSON it holds secrets.
type History struct {
	known   map[string]origin // by name
	deleted []Stored          // the oldest first
}

// An origin is what is known of one record.
type origin struct {
	id               string
	created, updated time.Time
}

// Identify gives the records of a store their IDs and times.
func (h *History) Identify(all []Stored) []Stored {
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
func (h *History) taken() map[string]bool {
	taken := map[string]bool{}
	for _, o := range h.known {
		taken[o.id] = true
	}
	for _, s := range h.deleted {
		taken[s.ID] = true
	}
	return taken
}

// Saved notes that the record called name is called next from now on; all are those
// before, with their IDs. An empty name adds one.
func (h *History) Saved(all []Stored, name, next string) {
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

func (h *History) know(name string, o origin) {
	if h.known == nil {
		h.known = map[string]origin{}
	}
	h.known[name] = o
}

// settle forgets what was removed by others, who keep nothing, and makes sure that the
// records that are there keep their IDs.
func (h *History) settle(all []Stored) {
	for _, s := range all {
		h.know(s.Record.Name, origin{s.ID, s.Created, s.Updated})
	}
	for name := range h.known {
		if !slices.ContainsFunc(all, func(s Stored) bool { return s.Record.Name == name }) {
			delete(h.known, name)
		}
	}
}

// Removed notes that the record at an index of all, which are those before, was deleted. It
// does nothing if there is none.
func (h *History) Removed(all []Stored, i int) {
	if i < 0 || i >= len(all) {
		return
	}
	h.settle(all)
	s := all[i]
	s.Deleted = time.Now().UTC().Truncate(time.Microsecond)
	delete(h.known, s.Record.Name)
	h.deleted = append(h.deleted, s)
	h.deleted = h.deleted[max(0, len(h.deleted)-maxArchived):]
}

// Find returns a deleted record by its ID. The caller must not change it.
func (h *History) Find(id string) (*Record, error) {
	i := slices.IndexFunc(h.deleted, func(s Stored) bool { return s.ID == id })
	if i < 0 {
		return nil, &Error{Code: CodeNotFound, Name: id}
	}
	return h.deleted[i].Record, nil
}

// Restored notes that the deleted record of an ID is there again.
func (h *History) Restored(id string) {
	for i, s := range h.deleted {
		if s.ID == id {
			h.know(s.Record.Name, origin{id: s.ID, created: s.Created, updated: time.Now().UTC().Truncate(time.Microsecond)})
			h.deleted = slices.Delete(slices.Clone(h.deleted), i, i+1)
			return
		}
	}
}

// Deleted returns the deleted records that are not there, since a deletion that was noted
// may have failed.
func (h *History) Deleted(all []Stored) []Stored {
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

type wireHistory struct {
	Version int                   `json:"version"` // historyVersion
	Known   map[string]wireOrigin `json:"known"`
	Deleted []wireDeleted         `json:"deleted,omitempty"`
}

const historyVersion = 1

type wireOrigin struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
}

type wireDeleted struct {
	wireOrigin
	Deleted time.Time       `json:"deleted"`
	Record  json.RawMessage `json:"record"`
}

// UnmarshalJSON reads what [History.MarshalJSON] returned.
func (h *History) UnmarshalJSON(data []byte) error {
	*h = History{}
	var w wireHistory
	if err := json.Unmarshal(data, &w); err != nil || w.Version != historyVersion {
		return fmt.Errorf("is not a history of version %d: remove it if nothing in it matters", historyVersion)
	}
	for name, o := range w.Known {
		h.know(name, origin{o.ID, o.Created, o.Updated})
	}
	for _, d := range w.Deleted {
		r, err := Decode(d.Record)
		if err != nil {
			return err
		}
		h.deleted = append(h.deleted, Stored{Record: r, Revision: "deleted", ID: d.ID, Created: d.Created, Updated: d.Updated, Deleted: d.Deleted})
	}
	return nil
}

// MarshalJSON returns the history with the secrets of the deleted records in clear.
func (h *History) MarshalJSON() ([]byte, error) {
	w := wireHistory{Version: historyVersion, Known: map[string]wireOrigin{}}
	for name, o := range h.known {
		w.Known[name] = wireOrigin{o.id, o.created, o.updated}
	}
	for _, s := range h.deleted {
		record, err := s.Record.Encode()
		if err != nil {
			return nil, err
		}
		w.Deleted = append(w.Deleted, wireDeleted{wireOrigin{s.ID, s.Created, s.Updated}, s.Deleted, record})
	}
	return json.Marshal(w)
}
