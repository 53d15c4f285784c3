package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// Values of [LastStatus.Status].
const (
	StatusConnected    = "connected"    // ready, its tools listed
	StatusDisconnected = "disconnected" // not running, and nothing is wrong
	StatusError        = "error"        // see LastStatus.Error
)

// A LastStatus is what became of a server when it was last in use, kept between the
// runs of a program. The zero LastStatus says that nothing is known.
type LastStatus struct {
	Status    string    // one of the Status constants
	Error     string    // what was wrong last, without secrets; empty when all is well
	Connected time.Time // when it was connected last; zero: never
	Tools     int       // how many tools it had then
}

// A StatusStore keeps the last status of servers by their names. It is safe for
// concurrent use, also by several processes, and returns soon after ctx ends. There is
// [OpenStatusFile].
type StatusStore interface {
	// Statuses returns what is known of all servers. The caller may change the map.
	Statuses(ctx context.Context) (map[string]LastStatus, error)
	// SaveStatuses keeps the status of the servers in changes and leaves the others
	// alone. The zero LastStatus forgets a server. The last who saves is right.
	SaveStatuses(ctx context.Context, changes map[string]LastStatus) error
}

// maxStatusFile bounds a status file, in bytes.
const maxStatusFile = 16 << 20

// A StatusFile is a [StatusStore] in a file. What it keeps can be lost: a file that is
// damaged counts as empty and is replaced.
type StatusFile struct{ path string }

// OpenStatusFile returns the store in the file at path. The file, and its folder, are
// made when something is saved, for their owner alone.
func OpenStatusFile(path string) *StatusFile { return &StatusFile{path} }

// wireStatuses is a status file.
type wireStatuses struct {
	Version int                   `json:"version"` // statusVersion
	Servers map[string]wireStatus `json:"servers"`
}

const statusVersion = 1

type wireStatus struct {
	Status    string     `json:"status"`
	Error     string     `json:"error,omitempty"`
	Connected *time.Time `json:"connected,omitempty"`
	Tools     int        `json:"tools"`
}

// Statuses implements [StatusStore].
func (f *StatusFile) Statuses(ctx context.Context) (map[string]LastStatus, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := atomicfile.Resolve(f.path)
	if err != nil {
		return nil, f.fail(err)
	}
	return f.read(path)
}

func (f *StatusFile) read(path string) (map[string]LastStatus, error) {
	all := map[string]LastStatus{}
	data, _, err := atomicfile.Read(path, maxStatusFile)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, f.fail(err)
	}
	var w wireStatuses
	if err := json.Unmarshal(data, &w); err != nil || w.Version != statusVersion {
		return all, nil
	}
	for name, s := range w.Servers {
		status := LastStatus{Status: s.Status, Error: s.Error, Tools: s.Tools}
		if s.Connected != nil {
			status.Connected = *s.Connected
		}
		all[name] = status
	}
	return all, nil
}

// SaveStatuses implements [StatusStore].
func (f *StatusFile) SaveStatuses(ctx context.Context, changes map[string]LastStatus) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return f.fail(err)
	}
	path, err := atomicfile.Resolve(f.path)
	if err != nil {
		return f.fail(err)
	}
	unlock, err := atomicfile.Lock(ctx, path)
	if err != nil {
		return f.fail(err)
	}
	defer unlock()
	all, err := f.read(path)
	if err != nil {
		return err
	}
	before := maps.Clone(all)
	for name, s := range changes {
		s.Connected = s.Connected.Round(0).UTC()
		if s == (LastStatus{}) {
			delete(all, name)
		} else {
			all[name] = s
		}
	}
	if maps.Equal(before, all) {
		return nil
	}
	w := wireStatuses{Version: statusVersion, Servers: make(map[string]wireStatus, len(all))}
	for name, s := range all {
		wire := wireStatus{Status: s.Status, Error: s.Error, Tools: s.Tools}
		if !s.Connected.IsZero() {
			at := s.Connected.UTC()
			wire.Connected = &at
		}
		w.Servers[name] = wire
	}
	data, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return f.fail(err)
	}
	if err := atomicfile.Replace(ctx, path, append(bytes.TrimSpace(data), '\n'), 0o600); err != nil {
		return f.fail(err)
	}
	return nil
}

func (f *StatusFile) fail(err error) error {
	return fmt.Errorf("the status file %s: %w", f.path, err)
}
