package record

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/storage"
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
	Status    string    `json:"status"`             // one of the Status constants
	Error     string    `json:"error,omitempty"`    // what was wrong last, without secrets; empty when all is well
	Connected time.Time `json:"connected,omitzero"` // when it was connected last; zero: never
	Tools     int       `json:"tools"`              // how many tools it had then
}

// A StatusStore keeps the last status of servers by their names. It is safe for
// concurrent use, also by several processes, and returns soon after ctx ends. There are
// [OpenStatusFile] and [NewStatuses].
type StatusStore interface {
	// Statuses returns what is known of all servers. The caller may change the map.
	Statuses(ctx context.Context) (map[string]LastStatus, error)
	// SaveStatuses keeps the status of the servers in changes and leaves the others
	// alone. The zero LastStatus forgets a server. The last who saves is right.
	SaveStatuses(ctx context.Context, changes map[string]LastStatus) error
}

const maxStatusFile = 16 << 20 // bytes

// A statuses is a [StatusStore] of one document.
type statuses struct {
	kept  *document.Value[map[string]LastStatus]
	where string // for errors
}

// NewStatuses returns the statuses that are kept in a store under a name, see
// [storage.CheckName], such as "statuses". Statuses can be lost: if it is damaged it
// counts as empty and is replaced.
func NewStatuses(store storage.Store, name string) StatusStore {
	return newStatuses(store, name, "the kept status of servers")
}

// OpenStatusFile returns the statuses in the file at path, as [NewStatuses] does. The file,
// and its folder, are made when something is saved, for their owner alone.
func OpenStatusFile(path string) StatusStore {
	return newStatuses(&document.File{Path: path, Most: maxStatusFile, Check: ownfile.Check(path, ownfile.Own)}, "", "the status file "+path)
}

func newStatuses(keeper document.Keeper, name, where string) *statuses {
	return &statuses{document.New(keeper, name, decodeStatuses, encodeStatuses), where}
}

// Statuses implements [StatusStore].
func (s *statuses) Statuses(ctx context.Context) (map[string]LastStatus, error) {
	kept, err := s.kept.Load(ctx)
	if err != nil {
		return nil, s.fail(err)
	}
	all := make(map[string]LastStatus, len(kept))
	maps.Copy(all, kept)
	return all, nil
}

// SaveStatuses implements [StatusStore].
func (s *statuses) SaveStatuses(ctx context.Context, changes map[string]LastStatus) error {
	return s.fail(s.kept.Change(ctx, func(before map[string]LastStatus) (map[string]LastStatus, bool, error) {
		all := make(map[string]LastStatus, len(before)+len(changes))
		maps.Copy(all, before)
		for name, last := range changes {
			last.Connected = last.Connected.Round(0).UTC()
			if last == (LastStatus{}) {
				delete(all, name)
			} else {
				all[name] = last
			}
		}
		return all, !maps.Equal(before, all), nil
	}))
}

func (s *statuses) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.where, err)
}

// wireStatuses is what is kept.
type wireStatuses struct {
	Version int                   `json:"version"` // statusVersion
	Servers map[string]LastStatus `json:"servers"`
}

const statusVersion = 1

func decodeStatuses(data []byte) (map[string]LastStatus, error) {
	var w wireStatuses
	if err := json.Unmarshal(data, &w); err != nil || w.Version != statusVersion {
		return nil, nil
	}
	return w.Servers, nil
}

func encodeStatuses(all map[string]LastStatus) ([]byte, error) {
	data, err := json.MarshalIndent(wireStatuses{statusVersion, all}, "", "  ")
	return append(data, '\n'), err
}
