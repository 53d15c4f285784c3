package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// statusPause is how long changes are gathered before they are kept.
	statusPause = 250 * time.Millisecond
	// statusPatience bounds how long the store of statuses is waited for.
	statusPatience = 2 * time.Second
)

// statusName returns the name of the file that keeps the statuses of the servers of a
// config file.
func statusName(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// A statusKeeper keeps what becomes of a host's servers. One goroutine of the host runs
// it, and ends with it.
type statusKeeper struct {
	host  *Host
	store record.StatusStore
	kept  map[string]record.LastStatus // what the store has; nil: not known yet

	closing sync.Once
	last    []serverStatus // how the servers stood when the host began to close
}

// A serverStatus is a server, where it stands, and its entry; both are nil of one that is
// being made.
type serverStatus struct {
	name   string
	former string // see slot
	status *Status
	entry  *config.Server
}

// run keeps each change until the host is closed, and then that it is.
func (k *statusKeeper) run() {
	for {
		changed := k.host.nextChange()
		k.keep(k.host.serverStatuses(), false)
		select {
		case <-changed:
		case <-k.host.intake.Done():
		}
		pause := time.NewTimer(statusPause)
		select {
		case <-pause.C:
		case <-k.host.intake.Done():
			pause.Stop()
			k.keep(k.last, true)
			return
		}
	}
}

// close notes how the servers stand before they are stopped.
func (k *statusKeeper) close() {
	if k != nil {
		k.closing.Do(func() { k.last = k.host.serverStatuses() })
	}
}

// serverStatuses returns how all servers stand; nil before the first Apply.
func (h *Host) serverStatuses() []serverStatus {
	h.mu.Lock()
	names, configured := h.order, h.generation > 0
	formers := map[string]string{}
	for name, sl := range h.slots {
		formers[name] = sl.former
	}
	h.mu.Unlock()
	if !configured {
		return nil
	}
	entries := map[string]*config.Server{}
	for _, s := range h.current() {
		entries[s.entry.Name] = s.entry
	}
	status := map[string]*Status{}
	for _, s := range h.Servers() {
		status[s.Name] = &s
	}
	all := make([]serverStatus, len(names))
	for i, name := range names {
		all[i] = serverStatus{name, formers[name], status[name], entries[name]}
	}
	return all
}

// keep tells the store how the servers stand; ended means that they are stopped now.
func (k *statusKeeper) keep(all []serverStatus, ended bool) {
	defer k.host.caught("Options.Statuses", new(error))
	if all == nil || !k.load() {
		return
	}
	now := map[string]record.LastStatus{}
	for _, s := range all {
		last, known := k.kept[s.name]
		if !known {
			last = k.kept[s.former]
		}
		if s.status != nil && s.entry != nil {
			last = lastOf(last, *s.status, s.entry)
		}
		if ended && last.Status == record.StatusConnected {
			last.Status = record.StatusDisconnected
		}
		if last != (record.LastStatus{}) {
			now[s.name] = last
		}
	}
	k.save(now)
}

// save tells the store what differs from what it has. If that fails, the next change
// tells it.
func (k *statusKeeper) save(now map[string]record.LastStatus) {
	changes := map[string]record.LastStatus{}
	for name, s := range now {
		if k.kept[name] != s {
			changes[name] = s
		}
	}
	for name := range k.kept {
		if _, ok := now[name]; !ok {
			changes[name] = record.LastStatus{}
		}
	}
	if len(changes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	if err := k.store.SaveStatuses(ctx, changes); err != nil {
		k.complain("keeping", err)
		return
	}
	k.kept = now
}

func (k *statusKeeper) complain(what string, err error) {
	if logger := k.host.opts.Client.Logger; logger != nil {
		logger.Warn("mcp: "+what+" the status of servers", "error", err)
	}
}

// load reads what the store has, and reports whether it could be read.
func (k *statusKeeper) load() bool {
	if k.kept != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	kept, err := k.store.Statuses(ctx)
	if err != nil {
		k.complain("reading", err)
		return false
	}
	k.kept = maps.Clone(kept)
	if k.kept == nil {
		k.kept = map[string]record.LastStatus{}
	}
	return true
}

// lastOf returns what is kept of a server's status; last is what was kept before.
func lastOf(last record.LastStatus, s Status, entry *config.Server) record.LastStatus {
	switch s.Stage {
	case StageStarting:
		if s.Err == nil {
			return last // it is not clear yet what becomes of it
		}
		last.Status = record.StatusError
	case StageReady:
		switch {
		case s.State.Phase == mcp.Ready:
			last.Connected = s.State.Since.Round(0).UTC()
		case last.Status != record.StatusConnected: // a user is
			last.Connected = time.Now().Round(0).UTC()
		}
		last.Status, last.Tools = record.StatusConnected, s.Tools
	case StageDisabled:
		last.Status, last.Error = record.StatusDisconnected, ""
		return last
	default:
		last.Status = record.StatusDisconnected
	}
	last.Error = entry.MaskError(s.Err)
	if last.Error != "" {
		last.Status = record.StatusError
	} else if u := s.Unapplied; u != nil { // it works as it was
		last.Error = u.Entry.MaskError(u.Err)
	}
	return last
}
