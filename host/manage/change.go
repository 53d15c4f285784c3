package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// Add adds a record to the store and starts its server, unless it is disabled. It returns
// when the server is ready or has failed its first attempt, which the report says: it is
// kept all the same, and tried again.
//
// The error is a [*record.Error], or several joined, if the record is not one that
// can be kept; that of the store; or that of a required server that failed. If ctx ends
// before, the server goes on to be started.
func (m *Manager) Add(ctx context.Context, r *config.Server) (host.Report, error) {
	if r == nil {
		return host.Report{}, errors.New("manage: Add: the record is nil")
	}
	return m.change(ctx, "add", record.Of(r).Name, func(ctx context.Context) (before, after record.Stored, err error) {
		after, err = record.Add(ctx, m.store, r)
		return before, after, err
	})
}

// Update applies a patch to the record of that name, and has its server run as that says, as
// [host.Host.Apply] does: a changed server is replaced when its successor is ready, and if
// that fails the old one goes on, as the report says. A masked secret in the patch stays what
// it is, see [record.Patch.Apply]. The name is that of the record or of its server, or the
// record's ID.
//
// With another name the server is started under that beside the former one, which is
// removed when the new one is ready or has failed its first attempt. The server keeps a
// quarantine, but not the status, the approvals and the logins of the former name.
//
// The error is as for [Manager.Add], and of [record.CodeNotFound] if there is no such
// record.
func (m *Manager) Update(ctx context.Context, name string, p *record.Patch) (host.Report, error) {
	old, err := m.find(ctx, name)
	if err != nil {
		return host.Report{}, err
	}
	was := old.Record.Name
	if p.Says("name") {
		p = m.stayQuarantined(was, p)
	}
	return m.change(ctx, "update", was, func(ctx context.Context) (before, after record.Stored, err error) {
		return record.Update(ctx, m.store, cmp.Or(old.ID, old.Record.Title), p)
	})
}

// stayQuarantined returns a patch that gives a server another name, and does not end its
// quarantine by that.
func (m *Manager) stayQuarantined(name string, p *record.Patch) *record.Patch {
	is, err := m.host.Inspect(name)
	if err != nil {
		return p
	}
	if m.host.Registry().Quarantines(host.Facts(is.Entry, nil)) {
		quarantined := *p
		quarantined.Keys = append(slices.Clone(p.Keys), "quarantined")
		quarantined.Values.Quarantined = true
		return &quarantined
	}
	return p
}

// Remove removes the record of that name from the store, and its server. Calls under way
// finish in the background. A record that belongs to the program is not removed: the error
// is of [record.CodeBuiltinReadOnly] then. The name is as for [Manager.Update].
// [Manager.Restore] takes the record back.
func (m *Manager) Remove(ctx context.Context, name string) (host.Report, error) {
	old, err := m.find(ctx, name)
	if err != nil {
		return host.Report{}, err
	}
	return m.change(ctx, "remove", old.Record.Name, func(ctx context.Context) (before, after record.Stored, err error) {
		before, err = record.Remove(ctx, m.store, cmp.Or(old.ID, old.Record.Title))
		return before, after, err
	})
}

// Restore takes back that the record of an ID was removed from the store, and starts its
// server as [Manager.Add] does. The error is as there, of [record.CodeNotFound] if no such
// record was removed, and of [record.CodeNameTaken] if another one has its name now.
func (m *Manager) Restore(ctx context.Context, id string) (host.Report, error) {
	removed, err := m.Removed(ctx)
	if err != nil {
		return host.Report{}, err
	}
	for _, s := range removed {
		if s.ID != id {
			continue
		}
		return m.change(ctx, "restore", s.Record.Name, func(ctx context.Context) (before, after record.Stored, err error) {
			after, err = record.Restore(ctx, m.store, id)
			return before, after, err
		})
	}
	return host.Report{}, &record.Error{Code: record.CodeNotFound, Name: id}
}

// Preview returns the entry, with its secrets, that the server of a record would have after
// [Manager.Update] with the same patch. Nothing is changed. The name and the error are as there.
func (m *Manager) Preview(ctx context.Context, name string, p *record.Patch) (*config.Server, error) {
	old, err := m.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if p != nil && p.Revision != "" && p.Revision != old.Revision {
		return nil, &record.Error{Code: record.CodeConflict, Name: old.Record.Title}
	}
	next, err := p.Apply(old.Record)
	if err != nil {
		return nil, err
	}
	return record.ReadServer(ctx, record.NewMemoryStore(next), next.Title, m.readOptions(old.Record.Name, next.Name))
}

// find returns a record of the store. A host that is closed changes none.
func (m *Manager) find(ctx context.Context, name string) (record.Stored, error) {
	if err := m.open(); err != nil {
		return record.Stored{}, err
	}
	return record.Find(ctx, m.store, name)
}

// A storeChange changes the store, and returns the record before and after it, without a
// Record if there is none.
type storeChange func(context.Context) (before, after record.Stored, err error)

// change is apply for a change that can be undone.
func (m *Manager) change(ctx context.Context, what, name string, change storeChange) (host.Report, error) {
	return m.apply(ctx, what, name, func(ctx context.Context) (before, after record.Stored, err error) {
		before, after, err = change(ctx)
		if err == nil {
			m.history.add(before, after)
		}
		return before, after, err
	})
}

// apply changes the store, and then the servers. First the store: what
// is in it is what a host runs that is opened after this one was killed.
func (m *Manager) apply(ctx context.Context, what, name string, change storeChange) (host.Report, error) {
	if err := m.made(); err != nil {
		return host.Report{}, err
	}
	return m.host.ApplyServers(ctx, what, name, func(following context.Context) (map[string]*config.Server, error) {
		before, after, err := change(ctx)
		if err != nil {
			return nil, err
		}
		return m.entries(following, before.Record, after.Record)
	})
}

// entries returns what a change of the store means for the servers: one is to be as its
// record says, and one of which the name has gone is to be removed.
func (m *Manager) entries(ctx context.Context, before, after *config.Server) (map[string]*config.Server, error) {
	entries := map[string]*config.Server{}
	if before != nil {
		entries[before.Name] = nil
	}
	if after == nil {
		return entries, nil
	}
	names := []string{after.Name}
	if before != nil {
		names = append(names, before.Name)
	}
	entry, err := record.ReadServer(ctx, m.store, after.Title, m.readOptions(names...))
	switch {
	case errors.Is(err, &record.Error{Code: record.CodeNotFound}): // another program has removed it already
		entries[after.Name] = nil
		return entries, nil
	case err != nil:
		return nil, fmt.Errorf("server %q is saved, but cannot be read to be started: %w", after.Title, err)
	}
	entries[entry.Name] = entry
	return entries, nil
}
