package edit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/record"
)

const (
	maxHistory     = 16 << 20 // bytes
	historyVersion = 1
	// maxArchived bounds the deleted records that are kept; the oldest go.
	maxArchived = 100
)

// A history is what a [fileStore] knows of its records beside what the file says: their
// IDs, their times, and those that were deleted. The zero history knows nothing. One that
// is kept is not changed.
type history struct {
	Version int                      `json:"version"` // historyVersion
	Known   map[string]record.Stored `json:"known"`   // without Record and Revision, by name
	Deleted []deletedRecord          `json:"deleted,omitempty"`
}

type deletedRecord struct {
	record.Stored
	Record json.RawMessage `json:"record"` // with its secrets in clear
}

func decodeHistory(data []byte) (h history, err error) {
	if json.Unmarshal(data, &h) != nil || h.Version != historyVersion {
		return h, fmt.Errorf("is not a history of version %d: remove it if nothing in it matters", historyVersion)
	}
	return h, nil
}

func (h history) encode() ([]byte, error) {
	h.Version = historyVersion
	data, err := json.MarshalIndent(h, "", "  ")
	return append(data, '\n'), err
}

// history returns what is kept.
func (f *fileStore) history(ctx context.Context) (history, error) {
	h, err := f.past.Load(ctx)
	return h, f.failHistory(err)
}

func (f *fileStore) failHistory(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the history of the config file, %s: %w", f.where, err)
}

// identify gives the records of a store their IDs and times.
func (h *history) identify(all []record.Stored) []record.Stored {
	taken := h.taken()
	for i := range all {
		s := &all[i]
		o, ok := h.Known[s.Record.Title]
		if !ok {
			o.ID = idOf(s.Record.Title, taken)
			taken[o.ID] = true
		}
		s.ID, s.Created, s.Updated = o.ID, o.Created, o.Updated
	}
	return all
}

// taken returns the IDs that records have, or have had.
func (h *history) taken() map[string]bool {
	taken := map[string]bool{}
	for _, o := range h.Known {
		taken[o.ID] = true
	}
	for _, d := range h.Deleted {
		taken[d.ID] = true
	}
	return taken
}

// settle forgets what was removed by others, who keep nothing, and makes sure that the
// records that are there keep their IDs. All that h holds is its own then.
func (h *history) settle(all []record.Stored) {
	h.Known, h.Deleted = make(map[string]record.Stored, len(all)), slices.Clone(h.Deleted)
	for _, s := range all {
		h.Known[s.Record.Title] = known(s)
	}
}

// known returns what is kept of a record that is there.
func known(s record.Stored) record.Stored {
	s.Record, s.Revision = nil, ""
	return s
}

// saved notes that the record called name is called next from now on; all are those
// before, with their IDs. An empty name adds one.
func (h *history) saved(all []record.Stored, name, next string) {
	h.settle(all)
	at := noted()
	o, there := h.Known[name]
	if !there {
		o = record.Stored{ID: idOf(next, h.taken()), Created: at}
	}
	o.Updated = at
	delete(h.Known, name)
	h.Known[next] = o
}

// removed notes that a record, one of all, which are those before, was deleted.
func (h *history) removed(all []record.Stored, s record.Stored) error {
	encoded, err := record.Encode(s.Record)
	if err != nil {
		return err
	}
	h.settle(all)
	delete(h.Known, s.Record.Title)
	s = known(s)
	s.Deleted = noted()
	h.Deleted = append(h.Deleted, deletedRecord{s, encoded})
	h.Deleted = h.Deleted[max(0, len(h.Deleted)-maxArchived):]
	return nil
}

// gone returns the deleted records that are not there, since a deletion that was noted
// may have failed.
func (h *history) gone(all []record.Stored) ([]record.Stored, error) {
	var list []record.Stored
	for _, d := range h.Deleted {
		if slices.ContainsFunc(all, func(s record.Stored) bool { return s.ID == d.ID }) {
			continue
		}
		r, err := record.Decode(d.Record)
		if err != nil {
			return nil, err
		}
		d.Stored.Record, d.Revision = r, "deleted"
		list = append(list, d.Stored)
	}
	return list, nil
}

// restored notes that the deleted record of an ID is there again, under a name.
func (h *history) restored(all []record.Stored, id, name string) {
	h.settle(all)
	i := slices.IndexFunc(h.Deleted, func(d deletedRecord) bool { return d.ID == id })
	if i < 0 {
		return
	}
	o := h.Deleted[i].Stored
	o.Updated, o.Deleted = noted(), time.Time{}
	h.Known[name] = o
	h.Deleted = slices.Delete(h.Deleted, i, i+1)
}

func noted() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// idOf returns the ID of a record that has had no other name, unless that is taken.
func idOf(name string, taken map[string]bool) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", name, n))
		if id := "~" + hex.EncodeToString(sum[:8]); !taken[id] {
			return id
		}
	}
}
