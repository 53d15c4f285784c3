package manage

import (
	"context"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// A Server is a record of the store with what became of its server.
type Server struct {
	record.Stored                   // with secrets masked; Deleted is zero but for what [Manager.Removed] returns
	Last          record.LastStatus // the newest that was kept; it is some time behind
	Status        *host.Status      // where the server stands; nil if the host does not have it
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
	return m.servers(ctx, all), nil
}

// servers returns records with what became of their servers.
func (m *Manager) servers(ctx context.Context, all []record.Stored) []Server {
	last := m.keeper.read(ctx)
	byName := map[string]*host.Status{}
	for _, s := range m.host.Servers() {
		byName[s.Name] = &s
	}
	servers := masked(all)
	for i, s := range all {
		servers[i].Last, servers[i].Status = last[s.Record.Name], byName[s.Record.Name]
	}
	return servers
}

func masked(all []record.Stored) []Server {
	servers := make([]Server, len(all))
	for i, s := range all {
		s.Record = s.Record.Masked()
		servers[i].Stored = s
	}
	return servers
}

// Server returns one of [Manager.Servers], by the name of the record or of its server, or
// by ID. The error is of [record.CodeNotFound] if there is none.
func (m *Manager) Server(ctx context.Context, name string) (Server, error) {
	if err := m.made(); err != nil {
		return Server{}, err
	}
	s, err := record.Find(ctx, m.store, name)
	if err != nil {
		return Server{}, err
	}
	return m.servers(ctx, []record.Stored{s})[0], nil
}

// Removed returns the records that were removed from the store and can be restored, the
// last one at the end.
func (m *Manager) Removed(ctx context.Context) ([]Server, error) {
	if err := m.open(); err != nil {
		return nil, err
	}
	all, err := m.store.Deleted(ctx)
	return masked(all), err
}
