package manage

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// A Server is a record of the store with what became of its server.
type Server struct {
	ID       string            // see [record.Stored]; empty if the store has none
	Record   *record.Record    // with secrets masked
	Revision record.Revision   // see [record.Patch.Revision]
	Created  time.Time         // zero if it is not known
	Updated  time.Time         // zero likewise
	Deleted  time.Time         // zero but for what [Manager.Removed] returns
	Last     record.LastStatus // the newest that was kept; it is some time behind
	Status   *host.Status      // where the server stands; nil if the host does not have it
}

// MarshalJSON returns the record as it may be shown, with "id", "createTime", "updateTime",
// "deleteTime", "revision", "lastStatus", "lastError", "lastConnected" and "toolCount".
// [Manager.Update] takes it back.
func (s Server) MarshalJSON() ([]byte, error) {
	show := struct {
		ID            string          `json:"id,omitempty"`
		Created       time.Time       `json:"createTime,omitzero"`
		Updated       time.Time       `json:"updateTime,omitzero"`
		Deleted       time.Time       `json:"deleteTime,omitzero"`
		Revision      record.Revision `json:"revision"`
		LastStatus    string          `json:"lastStatus,omitempty"`
		LastError     string          `json:"lastError,omitempty"`
		LastConnected time.Time       `json:"lastConnected,omitzero"`
		ToolCount     int             `json:"toolCount"`
	}{s.ID, s.Created, s.Updated, s.Deleted, s.Revision, s.Last.Status, s.Last.Error, s.Last.Connected, s.Last.Tools}
	record, err := json.Marshal(s.Record)
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(show)
	if err != nil {
		return nil, err
	}
	return append(append(record[:len(record)-1], ','), more[1:]...), nil
}

// Servers returns the records of the store, in its order, with what became of their
// servers. The last status is missing where it cannot be read.
func (m *Manager) Servers(ctx context.Context) ([]Server, error) {
	if err := m.made(); err != nil {
		return nil, err
	}
	all, err := m.store.Records(ctx)
	if err != nil {
		return nil, err
	}
	last := m.keeper.read(ctx)
	byName := map[string]*host.Status{}
	for _, s := range m.host.Servers() {
		byName[s.Name] = &s
	}
	servers := make([]Server, len(all))
	for i, s := range all {
		name := s.Record.ServerName()
		servers[i] = serverOf(s)
		servers[i].Last, servers[i].Status = last[name], byName[name]
	}
	return servers, nil
}

func serverOf(s record.Stored) Server {
	return Server{ID: s.ID, Record: s.Record.Masked(), Revision: s.Revision, Created: s.Created, Updated: s.Updated, Deleted: s.Deleted}
}

// Server returns one of [Manager.Servers], by the name of the record or of its server, or
// by ID. The error is of [record.CodeNotFound] if there is none.
func (m *Manager) Server(ctx context.Context, name string) (Server, error) {
	all, err := m.Servers(ctx)
	if err != nil {
		return Server{}, err
	}
	for _, is := range []func(*Server) bool{
		func(s *Server) bool { return s.ID != "" && s.ID == name },
		func(s *Server) bool { return s.Record.Name == name },
		func(s *Server) bool { return s.Record.ServerName() == name },
	} {
		for i := range all {
			if is(&all[i]) {
				return all[i], nil
			}
		}
	}
	return Server{}, &record.Error{Code: record.CodeNotFound, Name: name}
}

// Removed returns the records that were removed from the store and can be restored, the
// last one at the end.
func (m *Manager) Removed(ctx context.Context) ([]Server, error) {
	if err := m.open(); err != nil {
		return nil, err
	}
	all, err := m.store.Deleted(ctx)
	if err != nil {
		return nil, err
	}
	servers := make([]Server, len(all))
	for i, s := range all {
		servers[i] = serverOf(s)
	}
	return servers, nil
}
