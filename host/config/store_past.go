package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// maxPast bounds the file that keeps the history of a config file, in bytes.
const maxPast = 16 << 20

// Keep has the store keep IDs, times and deleted records, with their secrets, in the
// file at path, which is made for its owner alone. Without it they last as long as the
// store does. Two stores over one config file have to keep them in the same file. Call
// it before anything else.
func (f *FileStore) Keep(path string) { f.past.path = path }

// Deleted implements [Archive]. The last 100 are kept.
func (f *FileStore) Deleted(ctx context.Context) ([]Stored, error) {
	all, err := f.Records(ctx)
	if err != nil {
		return nil, err
	}
	past, err := f.past.read()
	if err != nil {
		return nil, err
	}
	return past.gone(all), nil
}

// Restore implements [Archive]. The record comes last in the file.
func (f *FileStore) Restore(ctx context.Context, id string) error {
	var past *history
	return f.edit(ctx, func(data []byte, records []Stored) (next []byte, err error) {
		if past, err = f.past.read(); err != nil {
			return nil, err
		}
		i, err := past.find(id)
		if err != nil {
			return nil, err
		}
		for _, s := range past.identify(records) {
			if s.ID == id {
				return nil, &RecordError{Code: CodeNotFound, Name: id} // it was not deleted
			}
		}
		r := past.deleted[i].Record
		if _, err := placeOf(records, "", r.Name, ""); err != nil {
			return nil, err
		}
		entry, err := r.Entry()
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", r.Name, err)
		}
		past.restored(i)
		return f.changed(data, func(d *draft) error { return d.put("", r.Name, entry) })
	}, func() error { return f.past.write(ctx, past) })
}

// A pastFile keeps the history of a config file. It is written while that is locked.
type pastFile struct {
	path string // empty: memory

	mu   sync.Mutex // guards the following, and the file within this process
	text []byte     // if there is no path
}

type wirePast struct {
	Version int                   `json:"version"` // pastVersion
	Known   map[string]wireOrigin `json:"known"`
	Deleted []wireDeleted         `json:"deleted,omitempty"`
}

const pastVersion = 1

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
	var w wirePast
	if err := json.Unmarshal(data, &w); err != nil || w.Version != pastVersion {
		return nil, p.fail(fmt.Errorf("is not a history of version %d: remove it if nothing in it matters", pastVersion))
	}
	for name, o := range w.Known {
		h.know(name, origin{o.ID, o.Created, o.Updated})
	}
	for _, d := range w.Deleted {
		r, err := DecodeRecord(d.Record)
		if err != nil {
			return nil, p.fail(err)
		}
		h.deleted = append(h.deleted, Stored{Record: r, Revision: "deleted", ID: d.ID, Created: d.Created, Updated: d.Updated, Deleted: d.Deleted})
	}
	return h, nil
}

func (p *pastFile) write(ctx context.Context, h *history) error {
	w := wirePast{Version: pastVersion, Known: map[string]wireOrigin{}}
	for name, o := range h.known {
		w.Known[name] = wireOrigin{o.id, o.created, o.updated}
	}
	for _, s := range h.deleted {
		record, err := s.Record.Encode()
		if err != nil {
			return p.fail(err)
		}
		w.Deleted = append(w.Deleted, wireDeleted{wireOrigin{s.ID, s.Created, s.Updated}, s.Deleted, record})
	}
	data, err := json.MarshalIndent(w, "", "  ")
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
