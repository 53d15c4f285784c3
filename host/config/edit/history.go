package edit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	maxHistory     = 16 << 20 // bytes
	historyVersion = 1
	// maxArchived bounds the deleted records that are kept; the oldest go.
	maxArchived = 100
)

// A history is what a [FileStore] knows of its records beside what the file says: their
// IDs, their times, and those that were deleted. The zero history knows nothing. It is
// not safe for concurrent use.
type history struct {
	Version int               `json:"version"` // historyVersion
	Known   map[string]origin `json:"known"`   // by name
	Deleted []deletedRecord   `json:"deleted,omitempty"`

	at storage.Revision // that was read; empty: nothing was kept
}

// An origin is what is known of one record.
type origin struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
}

type deletedRecord struct {
	origin
	Deleted time.Time       `json:"deleted"`
	Record  json.RawMessage `json:"record"` // with its secrets in clear
}

func newHistory() *history {
	return &history{Version: historyVersion, Known: map[string]origin{}}
}

// readHistory returns what is kept.
func (f *FileStore) readHistory(ctx context.Context) (*history, error) {
	r, err := f.past.Load(ctx, historyName, "")
	if errors.Is(err, storage.ErrNotFound) {
		return newHistory(), nil
	}
	if err != nil {
		return nil, f.failHistory(err)
	}
	h := &history{}
	if err := json.Unmarshal(r.Data, h); err != nil || h.Version != historyVersion {
		return nil, f.failHistory(fmt.Errorf("is not a history of version %d: remove it if nothing in it matters", historyVersion))
	}
	if h.Known == nil {
		h.Known = map[string]origin{}
	}
	h.at = r.Revision
	return h, nil
}

// writeHistory keeps h, while the config file is locked.
func (f *FileStore) writeHistory(ctx context.Context, h *history) error {
	data, err := json.MarshalIndent(h, "", "  ")
	if file, ok := f.past.(*document.File); err == nil && ok {
		err = os.MkdirAll(filepath.Dir(file.Path), 0o700)
	}
	if err == nil {
		h.at, err = f.past.Save(ctx, historyName, append(data, '\n'), h.at)
	}
	return f.failHistory(err)
}

// historyName is that of the record while there is no file.
const historyName = "history"

func (f *FileStore) failHistory(err error) error {
	if err == nil {
		return nil
	}
	where := "in memory"
	if file, ok := f.past.(*document.File); ok {
		where = file.Path
	}
	return fmt.Errorf("the history of the config file, %s: %w", where, err)
}

// identify gives the records of a store their IDs and times.
func (h *history) identify(all []record.Stored) []record.Stored {
	taken := h.taken()
	for i := range all {
		s := &all[i]
		o, ok := h.Known[s.Record.Name]
		if !ok {
			o.ID = idOf(s.Record.Name, taken)
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
// records that are there keep their IDs.
func (h *history) settle(all []record.Stored) {
	clear(h.Known)
	for _, s := range all {
		h.Known[s.Record.Name] = origin{s.ID, s.Created, s.Updated}
	}
}

// saved notes that the record called name is called next from now on; all are those
// before, with their IDs. An empty name adds one.
func (h *history) saved(all []record.Stored, name, next string) {
	h.settle(all)
	at := noted()
	o, there := h.Known[name]
	if !there {
		o = origin{ID: idOf(next, h.taken()), Created: at}
	}
	o.Updated = at
	delete(h.Known, name)
	h.Known[next] = o
}

// removed notes that a record, one of all, which are those before, was deleted.
func (h *history) removed(all []record.Stored, s record.Stored) error {
	encoded, err := s.Record.Encode()
	if err != nil {
		return err
	}
	h.settle(all)
	delete(h.Known, s.Record.Name)
	h.Deleted = append(h.Deleted, deletedRecord{origin{s.ID, s.Created, s.Updated}, noted(), encoded})
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
		list = append(list, record.Stored{Record: r, Revision: "deleted", ID: d.ID, Created: d.Created, Updated: d.Updated, Deleted: d.Deleted})
	}
	return list, nil
}

// restored notes that the deleted record of an ID is there again, under a name.
func (h *history) restored(id, name string) {
	i := slices.IndexFunc(h.Deleted, func(d deletedRecord) bool { return d.ID == id })
	if i < 0 {
		return
	}
	o := h.Deleted[i].origin
	o.Updated = noted()
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
