package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// ErrNoStore is returned by the methods that change records, if the host has no store
// to keep them.
var ErrNoStore = errors.New("host: there is no store to keep servers in: use Open or OpenStore, or set Options.Store")

// AddServer adds a record to the host's store and starts its server, unless it is
// disabled. It returns when the server is ready or has failed its first attempt, which
// the Report says: it is kept all the same, and tried again.
//
// The error is a [*record.Error], or several joined, if the record is not one that
// can be kept; that of the store; or that of a required server that failed. If ctx ends
// before, the server goes on to be started.
func (h *Host) AddServer(ctx context.Context, r *record.Record) (Report, error) {
	if r == nil {
		return Report{}, errors.New("host: AddServer: the record is nil")
	}
	return h.manage(ctx, "add", []string{r.ServerName()}, func(ctx context.Context, store record.Store) (before, after *record.Record, err error) {
		added, err := record.Add(ctx, store, r)
		return nil, added.Record, err
	})
}

// UpdateServer applies a patch to the record of that name in the host's store, and has
// the server run as that says, as [Host.Apply] does: a changed server is replaced when
// its successor is ready, and if that fails the old one goes on, as the Report says. A
// masked secret in the patch stays what it is, see [record.Record.Apply]. The name is that
// of the record or of its server, or the record's ID.
//
// With another name the server is started under that beside the former one, which is
// removed when the new one is ready or has failed its first attempt. What was kept of its
// status stays; what was approved or who is logged in under the former name does not, and
// a quarantine goes on.
//
// The error is as for [Host.AddServer], and of [record.CodeNotFound] if there is no such
// record.
func (h *Host) UpdateServer(ctx context.Context, name string, p *record.Patch) (Report, error) {
	store, err := h.managedStore()
	if err != nil {
		return Report{}, err
	}
	old, err := record.Find(ctx, store, name)
	if err != nil {
		return Report{}, err
	}
	names := []string{old.Record.ServerName()}
	if p != nil && p.Name.Set {
		renamed := record.Record{Name: p.Name.Value}
		names = append(names, renamed.ServerName())
		p = h.stayQuarantined(names[0], p)
	}
	return h.manage(ctx, "update", names, func(ctx context.Context, store record.Store) (before, after *record.Record, err error) {
		was, is, err := record.Update(ctx, store, cmp.Or(old.ID, old.Record.Name), p)
		return was.Record, is.Record, err
	})
}

// stayQuarantined returns a patch that gives a server another name, and does not end its
// quarantine by that.
func (h *Host) stayQuarantined(name string, p *record.Patch) *record.Patch {
	sl, err := h.slot(name)
	if err != nil {
		return p
	}
	if s := sl.now(); s != nil && s.quarantined() {
		held := *p
		held.Quarantined = record.Optional[bool]{Set: true, Value: true}
		return &held
	}
	return p
}

// RemoveServer removes the record of that name from the host's store, and its server.
// Calls under way finish in the background. A record that belongs to the program is not
// removed: the error is of [record.CodeBuiltinReadOnly] then. The name is as for
// [Host.UpdateServer]. [Host.RestoreServer] takes it back.
func (h *Host) RemoveServer(ctx context.Context, name string) (Report, error) {
	store, err := h.managedStore()
	if err != nil {
		return Report{}, err
	}
	old, err := record.Find(ctx, store, name)
	if err != nil {
		return Report{}, err
	}
	return h.manage(ctx, "remove", []string{old.Record.ServerName()}, func(ctx context.Context, store record.Store) (before, after *record.Record, err error) {
		removed, err := record.Remove(ctx, store, cmp.Or(old.ID, old.Record.Name))
		return removed.Record, nil, err
	})
}

// RestoreServer takes back that the record of an ID was removed from the host's store, and
// starts its server as [Host.AddServer] does. The error is as there, of
// [record.CodeNotFound] if no such record was removed, and of [record.CodeNameTaken] if
// another one has its name now.
func (h *Host) RestoreServer(ctx context.Context, id string) (Report, error) {
	removed, err := h.RemovedServers(ctx)
	if err != nil {
		return Report{}, err
	}
	for _, m := range removed {
		if m.ID != id {
			continue
		}
		return h.manage(ctx, "restore", []string{m.Record.ServerName()}, func(ctx context.Context, store record.Store) (before, after *record.Record, err error) {
			restored, err := record.Restore(ctx, store, id)
			return nil, restored.Record, err
		})
	}
	return Report{}, &record.Error{Code: record.CodeNotFound, Name: id}
}

// managedStore returns the store of the host, if that can change what is in it.
func (h *Host) managedStore() (record.Store, error) {
	switch {
	case h.opts.Store == nil:
		return nil, ErrNoStore
	case h.isClosing():
		return nil, ErrClosed
	}
	return h.opts.Store, nil
}

// A recordChange changes a store, and returns the record before and after it, nil if
// there is none.
type recordChange func(context.Context, record.Store) (before, after *record.Record, err error)

// manage changes the store, and then the servers of those names. First the store: what
// is in it is what a host starts that is opened after this one was killed. Who changes
// the same server waits, so that what is in the store at last is also what runs at last.
//
// It does so in a goroutine of the host: from the moment that the store has changed, the
// servers follow even if ctx ends.
func (h *Host) manage(ctx context.Context, what string, names []string, change recordChange) (Report, error) {
	need(ctx)
	if h.opts.Store == nil {
		return Report{}, ErrNoStore
	}
	unlock, err := h.lockManaged(ctx, names)
	if err != nil {
		return Report{}, err
	}
	var report Report
	done := make(chan struct{})
	leave, err := h.visit()
	if err != nil {
		unlock()
		return Report{}, err
	}
	go func() {
		defer leave()
		defer close(done)
		report, err = h.carryOut(ctx, what, change, unlock)
	}()
	select {
	case <-done:
		return report, err
	case <-ctx.Done():
		return Report{}, fmt.Errorf("server %q: what of it is saved already is carried out all the same: %w", names[0], ctx.Err())
	}
}

// lockManaged waits for the right to change the records of those servers.
func (h *Host) lockManaged(ctx context.Context, names []string) (unlock func(), err error) {
	var unlocks []func()
	unlock = func() {
		for _, f := range unlocks {
			f()
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names))) // all in one order
	for _, name := range names {
		f, err := h.managing.Lock(ctx, name)
		if err != nil {
			unlock()
			return nil, fmt.Errorf("server %q: waiting for another change of it: %w", name, err)
		}
		unlocks = append(unlocks, f)
	}
	return unlock, nil
}

// carryOut makes a change. It unlocks when it is clear who has the say about the servers.
func (h *Host) carryOut(ctx context.Context, what string, change recordChange, unlock func()) (Report, error) {
	steps, err := h.planManaged(ctx, what, change)
	unlock()
	if err != nil {
		return Report{}, err
	}
	following, cancel := h.whileOpen(context.WithoutCancel(ctx))
	defer cancel()
	for i := range steps { // of a rename the new server first, so that no tool is missing
		if st := &steps[i]; !st.done {
			st.outcome, st.err = h.take(following, st)
		}
	}
	report, required := h.report(steps)
	return report, required.orNil()
}

// planManaged changes the store and finds out what that means for the servers: one is to
// be as its record says, and one of which the name has gone is to be removed.
func (h *Host) planManaged(ctx context.Context, what string, change recordChange) (steps []step, err error) {
	defer h.caught("Options.Store", &err)
	before, after, err := change(ctx, h.opts.Store)
	name := ""
	for _, r := range []*record.Record{before, after} {
		if r != nil {
			name = r.ServerName()
		}
	}
	h.recordFor(ctx, configEvent(what, name, err))
	if err != nil {
		return nil, err
	}
	if after != nil {
		following, cancel := h.whileOpen(context.WithoutCancel(ctx))
		defer cancel()
		names := []string{after.ServerName()}
		if before != nil {
			names = append(names, before.ServerName())
		}
		entry, err := record.ReadServer(following, h.opts.Store, after.Name, h.storeOptions(names...))
		switch {
		case errors.Is(err, &record.Error{Code: record.CodeNotFound}):
			entry = nil // somebody else has removed it already
		case err != nil:
			return nil, fmt.Errorf("server %q is saved, but cannot be read to be started: %w", after.Name, err)
		default:
			name = entry.Name
			h.warn(&config.Config{Servers: []*config.Server{entry}, Warnings: entry.Warnings})
		}
		steps = h.claimManaged(steps, name, entry)
	}
	if before != nil && (after == nil || before.ServerName() != name) {
		steps = h.claimManaged(steps, before.ServerName(), nil)
		if after != nil {
			h.rename(before.ServerName(), name)
		}
	}
	return steps, nil
}

// rename notes under which name the status of a server was kept.
func (h *Host) rename(from, to string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if sl := h.slots[to]; sl != nil {
		sl.former = from
	}
}

// claimManaged appends the step that makes a server as an entry says, or removes it if
// entry is nil, and gives it the say.
func (h *Host) claimManaged(steps []step, name string, entry *config.Server) []step {
	h.mu.Lock()
	defer h.mu.Unlock()
	hash := ""
	if entry != nil {
		entry = h.scopes.keep(entry)
		hash = hashOf(entry)
	}
	sl := h.slots[name]
	switch {
	case h.closed, sl == nil && entry == nil:
		return steps
	case sl == nil:
		sl = h.newSlot(name)
		h.slots[name] = sl
		h.order = append(slices.Clone(h.order), name)
	}
	h.generation++
	return append(steps, step{slot: sl, entry: entry, generation: h.generation, done: sl.claim(h.generation, entry, hash, nil)})
}

// A Managed is a record of the host's store with what became of its server.
type Managed struct {
	ID       string            // see [record.Stored]; empty if the store has none
	Record   *record.Record    // with secrets masked
	Revision record.Revision   // see [record.Patch.Revision]
	Created  time.Time         // zero if it is not known
	Updated  time.Time         // zero likewise
	Deleted  time.Time         // zero but for what [Host.RemovedServers] returns
	Last     record.LastStatus // the newest that was kept; it is some time behind
	Status   *Status           // where the server stands; nil if the host does not have it
}

// MarshalJSON returns the record as it may be shown, with "id", "createTime", "updateTime",
// "deleteTime", "revision", "lastStatus", "lastError", "lastConnected" and "toolCount".
// [Host.UpdateServer] takes it back.
func (m Managed) MarshalJSON() ([]byte, error) {
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
	}{m.ID, m.Created, m.Updated, m.Deleted, m.Revision, m.Last.Status, m.Last.Error, m.Last.Connected, m.Last.Tools}
	record, err := json.Marshal(m.Record)
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(show)
	if err != nil {
		return nil, err
	}
	return append(append(record[:len(record)-1], ','), more[1:]...), nil
}

// ManagedServers returns the records of the host's store, in its order, with what became
// of their servers. The last status is missing where it cannot be read.
func (h *Host) ManagedServers(ctx context.Context) ([]Managed, error) {
	if h.opts.Store == nil {
		return nil, ErrNoStore
	}
	all, err := h.opts.Store.Records(ctx)
	if err != nil {
		return nil, err
	}
	var last map[string]record.LastStatus
	if h.opts.Statuses != nil {
		last, _ = h.opts.Statuses.Statuses(ctx)
	}
	byName := map[string]*Status{}
	for _, s := range h.Servers() {
		byName[s.Name] = &s
	}
	managed := make([]Managed, len(all))
	for i, s := range all {
		name := s.Record.ServerName()
		managed[i] = managedOf(s)
		managed[i].Last, managed[i].Status = last[name], byName[name]
	}
	return managed, nil
}

func managedOf(s record.Stored) Managed {
	return Managed{ID: s.ID, Record: s.Record.Masked(), Revision: s.Revision, Created: s.Created, Updated: s.Updated, Deleted: s.Deleted}
}

// ManagedServer returns one of [Host.ManagedServers], by the name of the record or of its
// server, or by ID. The error is of [record.CodeNotFound] if there is none.
func (h *Host) ManagedServer(ctx context.Context, name string) (Managed, error) {
	all, err := h.ManagedServers(ctx)
	if err != nil {
		return Managed{}, err
	}
	for _, is := range []func(*Managed) bool{
		func(m *Managed) bool { return m.ID != "" && m.ID == name },
		func(m *Managed) bool { return m.Record.Name == name },
		func(m *Managed) bool { return m.Record.ServerName() == name },
	} {
		for i := range all {
			if is(&all[i]) {
				return all[i], nil
			}
		}
	}
	return Managed{}, &record.Error{Code: record.CodeNotFound, Name: name}
}

// RemovedServers returns the records that were removed from the host's store and can be
// restored, the last one at the end.
func (h *Host) RemovedServers(ctx context.Context) ([]Managed, error) {
	store, err := h.managedStore()
	if err != nil {
		return nil, err
	}
	all, err := store.Deleted(ctx)
	if err != nil {
		return nil, err
	}
	managed := make([]Managed, len(all))
	for i, s := range all {
		managed[i] = managedOf(s)
	}
	return managed, nil
}
