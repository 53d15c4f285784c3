package manage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// maxChanges bounds the changes that a manager can undo.
const maxChanges = 50

// A Change is one that a [Manager] made of its store. [Manager.Undo] takes it back.
type Change struct {
	At     time.Time      // when it was made
	Before *config.Server // with secrets masked; nil if the record was added or restored
	After  *config.Server // with secrets masked; nil if the record was removed

	number uint64
}

// A madeChange is a Change with what is needed to undo it.
type madeChange struct {
	Change
	before, after record.Stored // with their secrets; without a Record where Change has none
}

// A history has the newest changes of a manager, in memory. The zero history is empty.
type history struct {
	mu    sync.Mutex
	made  []madeChange // the newest last
	total uint64
}

func (h *history) add(before, after record.Stored) {
	if before.Record != nil && after.Record != nil && before.Revision == after.Revision {
		return // it has changed nothing
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total++
	made := madeChange{Change{At: time.Now().UTC(), number: h.total}, before, after}
	if before.Record != nil {
		made.Before = before.Record.Masked()
	}
	if after.Record != nil {
		made.After = after.Record.Masked()
	}
	h.made = append(h.made, made)
	if len(h.made) > maxChanges {
		h.made = slices.Delete(h.made, 0, len(h.made)-maxChanges)
	}
}

// last returns the newest change.
func (h *history) last() (madeChange, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.made) == 0 {
		return madeChange{}, false
	}
	return h.made[len(h.made)-1], true
}

// drop removes a change that was undone, which gave its record the revision now, or that
// cannot be undone any more. The changes before it that led to the record as it was have
// led to that revision, too.
func (h *history) drop(c *madeChange, now record.Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made = slices.DeleteFunc(h.made, func(one madeChange) bool { return one.number == c.number })
	for i := range h.made {
		if one := &h.made[i].after; now != "" && one.ID == c.before.ID && one.Revision == c.before.Revision {
			one.Revision = now
		}
	}
}

// LastChange returns the newest change that this manager made and has not undone. It knows the last
// 50, with their secrets, until it is closed. It reports false if there is none.
func (m *Manager) LastChange() (Change, bool) {
	if m.made() != nil {
		return Change{}, false
	}
	last, ok := m.history.last()
	return last.Change, ok
}

// Undo takes back a change that [Manager.LastChange] has returned: the record is what it was, and
// so is its server, as [Manager.Update] says. The change before it is the last one then.
//
// The error is of [record.CodeConflict], and nothing is changed, if another change was made since,
// or the record is not as that change left it because another process has changed it; then the
// change is forgotten. Otherwise it is as for Update, Add and Remove.
func (m *Manager) Undo(ctx context.Context, c Change) (host.Report, error) {
	if err := m.open(); err != nil {
		return host.Report{}, err
	}
	conflict := &record.Error{Code: record.CodeConflict, Name: c.record().Title}
	last, ok := m.history.last()
	if !ok || last.number != c.number {
		return host.Report{}, conflict
	}
	return m.apply(ctx, "undo", c.record().Name, func(ctx context.Context) (before, after record.Stored, err error) {
		after, err = m.revert(ctx, &last)
		if errors.Is(err, &record.Error{Code: record.CodeNotFound}) {
			err = conflict
		}
		if err == nil || errors.Is(err, conflict) {
			m.history.drop(&last, after.Revision)
		}
		return last.after, after, err
	})
}

// record returns the record that was changed, as it is or was.
func (c *Change) record() *config.Server { return cmp.Or(c.After, c.Before, new(config.Server)) }

// revert puts into the store what was there before a change, and returns it.
func (m *Manager) revert(ctx context.Context, c *madeChange) (record.Stored, error) {
	switch {
	case c.after.Record == nil:
		return record.Restore(ctx, m.store, c.before.ID)
	case c.before.Record == nil && c.after.Record.Builtin:
		return record.Stored{}, &record.Error{Code: record.CodeBuiltinReadOnly, Name: c.after.Record.Title}
	case c.before.Record == nil:
		return record.Stored{}, m.store.Delete(ctx, c.after.Record.Title, c.after.Revision)
	}
	was, is := c.before.Record, c.after.Record
	if was.Name != is.Name {
		if _, err := record.Find(ctx, m.store, was.Name); err == nil {
			return record.Stored{}, &record.Error{Code: record.CodeNameTaken, Name: was.Title, Field: "name"}
		}
	}
	revision, err := m.store.Save(ctx, is.Title, was, c.after.Revision)
	if err != nil {
		return record.Stored{}, err
	}
	after := c.before
	after.Revision, after.Updated = revision, time.Now().UTC()
	return after, nil
}
