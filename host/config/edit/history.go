package edit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// A history is what a store knows of its records beside what they say: their IDs, their
// times, and those that were deleted. The zero history knows nothing. It is not safe for
// concurrent use. As JSON it holds secrets.
type history struct {
	known   map[string]origin // by name
	deleted []record.Stored   // the oldest first
}

// An origin is what is known of one record.
type origin struct {
	id               string
	created, updated time.Time
}

// identify gives the records of a store their IDs and times.
func (h *history) identify(all []record.Stored) []record.Stored {
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
func (h *history) saved(all []record.Stored, name, next string) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	h.settle(all)
	o := origin{created: now}
	if i := slices.IndexFunc(all, func(s record.Stored) bool { return name != "" && s.Record.Name == name }); i >= 0 {
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
func (h *history) settle(all []record.Stored) {
	for _, s := range all {
		h.know(s.Record.Name, origin{s.ID, s.Created, s.Updated})
	}
	for name := range h.known {
		if !slices.ContainsFunc(all, func(s record.Stored) bool { return s.Record.Name == name }) {
			delete(h.known, name)
		}
	}
}

// removed notes that the record at an index of all, which are those before, was deleted. It
// does nothing if there is none.
func (h *history) removed(all []record.Stored, i int) {
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

// find returns a deleted record by its ID. The caller must not change it.
func (h *history) find(id string) (*record.Record, error) {
	i := slices.IndexFunc(h.deleted, func(s record.Stored) bool { return s.ID == id })
	if i < 0 {
		return nil, &record.Error{Code: record.CodeNotFound, Name: id}
	}
	return h.deleted[i].Record, nil
}

// restored notes that the deleted record of an ID is there again.
func (h *history) restored(id string) {
	for i, s := range h.deleted {
		if s.ID == id {
			h.know(s.Record.Name, origin{id: s.ID, created: s.Created, updated: time.Now().UTC().Truncate(time.Microsecond)})
			h.deleted = slices.Delete(slices.Clone(h.deleted), i, i+1)
			return
		}
	}
}

// gone returns the deleted records that are not there, since a deletion that was noted
// may have failed.
func (h *history) gone(all []record.Stored) []record.Stored {
	there := map[string]bool{}
	for _, s := range all {
		there[s.ID] = true
	}
	var list []record.Stored
	for _, s := range h.deleted {
		if !there[s.ID] {
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

// UnmarshalJSON reads what MarshalJSON returned.
func (h *history) UnmarshalJSON(data []byte) error {
	*h = history{}
	var w wireHistory
	if err := json.Unmarshal(data, &w); err != nil || w.Version != historyVersion {
		return fmt.Errorf("is not a history of version %d: remove it if nothing in it matters", historyVersion)
	}
	for name, o := range w.Known {
		h.know(name, origin{o.ID, o.Created, o.Updated})
	}
	for _, d := range w.Deleted {
		r, err := record.Decode(d.Record)
		if err != nil {
			return err
		}
		h.deleted = append(h.deleted, record.Stored{Record: r, Revision: "deleted", ID: d.ID, Created: d.Created, Updated: d.Updated, Deleted: d.Deleted})
	}
	return nil
}

// MarshalJSON returns the history with the secrets of the deleted records in clear.
func (h *history) MarshalJSON() ([]byte, error) {
	w := wireHistory{Version: historyVersion, Known: map[string]wireOrigin{}}
	for name, o := range h.known {
		w.Known[name] = wireOrigin{o.id, o.created, o.updated}
	}
	for _, s := range h.deleted {
		encoded, err := s.Record.Encode()
		if err != nil {
			return nil, err
		}
		w.Deleted = append(w.Deleted, wireDeleted{wireOrigin{s.ID, s.Created, s.Updated}, s.Deleted, encoded})
	}
	return json.Marshal(w)
}

// maxArchived bounds the deleted records that are kept; the oldest go.
const maxArchived = 100

// idOf returns the ID of a record that has had no other name, unless that is taken.
func idOf(name string, taken func(string) bool) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", name, n))
		if id := "~" + hex.EncodeToString(sum[:8]); !taken(id) {
			return id
		}
	}
}

// maxPast bounds the file that keeps the history of a config file, in bytes.
const maxPast = 16 << 20

// A pastFile keeps the history of a config file. It is written while that is locked.
type pastFile struct {
	path string // empty: memory

	mu   sync.Mutex // guards the following, and the file within this process
	text []byte     // if there is no path
}

func (p *pastFile) read() (*history, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	data := p.text
	if p.path != "" {
		path, err := atomicfile.Resolve(p.path)
		if err == nil {
			data, _, err = atomicfile.Read(path, maxPast)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return &history{}, nil
		}
		if err != nil {
			return nil, p.fail(err)
		}
	}
	h := &history{}
	if data == nil {
		return h, nil
	}
	if err := h.UnmarshalJSON(data); err != nil {
		return nil, p.fail(err)
	}
	return h, nil
}

func (p *pastFile) write(ctx context.Context, h *history) error {
	data, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return p.fail(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" {
		p.text = data
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return p.fail(err)
	}
	path, err := atomicfile.Resolve(p.path)
	if err != nil {
		return p.fail(err)
	}
	if err := atomicfile.Replace(ctx, path, append(bytes.TrimSpace(data), '\n'), 0o600); err != nil {
		return p.fail(err)
	}
	return nil
}

func (p *pastFile) fail(err error) error {
	return fmt.Errorf("the history of the config file, %s: %w", p.path, err)
}
