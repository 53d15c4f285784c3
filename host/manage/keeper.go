package manage

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// statusPause is how long changes are gathered before they are kept.
	statusPause = 250 * time.Millisecond
	// statusPatience bounds how long the store of statuses is waited for.
	statusPatience = 2 * time.Second
)

// A keeper keeps what becomes of a host's servers. It has one goroutine, which ends with
// the manager or the host. The nil keeper keeps nothing.
type keeper struct {
	host    *host.Host
	records record.Store
	store   record.StatusStore
	logger  *slog.Logger

	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended

	kept map[string]record.LastStatus // what the store has; nil: not known yet
	seen map[string]bool              // servers that the host had, or that have no record
}

func newKeeper(m *Manager, store record.StatusStore, logger *slog.Logger) *keeper {
	ctx, stop := context.WithCancel(context.Background())
	k := &keeper{
		host: m.host, records: m.store, store: store, logger: cmp.Or(logger, slog.New(slog.DiscardHandler)),
		stop: stop, done: make(chan struct{}), seen: map[string]bool{},
	}
	go k.run(ctx)
	return k
}

// run keeps each change until ctx ends or the host is closed, and then that the servers
// end.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	for servers := range k.host.Watch(ctx) {
		k.keep(servers, false)
		if feed.Sleep(ctx, statusPause) != nil {
			break
		}
	}
	k.keep(k.host.Servers(), true)
}

// close keeps how the servers stand, which are about to be stopped, and ends the goroutine.
func (k *keeper) close() {
	if k != nil {
		k.stop()
		<-k.done
	}
}

// read returns what was kept; nil if that cannot be read.
func (k *keeper) read(ctx context.Context) map[string]record.LastStatus {
	if k == nil {
		return nil
	}
	kept, _ := k.store.Statuses(ctx)
	return kept
}

// keep tells the store what became of the servers; ended means that they are about to be stopped. If
// that fails, the next change tells it.
func (k *keeper) keep(servers []host.Status, ended bool) {
	if !k.load() {
		return
	}
	changes := map[string]record.LastStatus{}
	for name := range k.kept {
		if k.seen[name] { // else it is about to be started for the first time
			changes[name] = record.LastStatus{}
		}
	}
	for _, s := range servers {
		k.seen[s.Name] = true
		last := k.kept[s.Name]
		if is, err := k.host.Inspect(s.Name); err == nil {
			last = lastOf(last, s, is.Entry)
		}
		if ended && last.Status == record.StatusConnected {
			last.Status = record.StatusDisconnected
		}
		changes[s.Name] = last
	}
	maps.DeleteFunc(changes, func(name string, last record.LastStatus) bool { return k.kept[name] == last })
	if len(changes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	if err := k.store.SaveStatuses(ctx, changes); err != nil {
		k.logger.Warn("manage: keeping the status of servers: " + err.Error())
		return
	}
	maps.Copy(k.kept, changes)
	maps.DeleteFunc(k.kept, func(_ string, last record.LastStatus) bool { return last == record.LastStatus{} })
}

// load reads what the store has, and reports whether it could be read. Statuses of servers
// that have no record any more are not kept.
func (k *keeper) load() bool {
	if k.kept != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	kept, err := k.store.Statuses(ctx)
	if err != nil {
		k.logger.Warn("manage: reading the status of servers: " + err.Error())
		return false
	}
	k.kept = map[string]record.LastStatus{}
	maps.Copy(k.kept, kept)
	records, err := k.records.Records(ctx)
	if err != nil {
		return true // who has a record is found out next time
	}
	for name := range k.kept {
		k.seen[name] = true
	}
	for _, r := range records {
		delete(k.seen, r.Record.Name)
	}
	return true
}

// lastOf returns what is kept of a server's status; last is what was kept before.
func lastOf(last record.LastStatus, s host.Status, entry *config.Server) record.LastStatus {
	switch s.Stage {
	case host.StageStarting:
		if s.Err == nil {
			return last // it is not clear yet what becomes of it
		}
		last.Status = record.StatusError
	case host.StageReady:
		switch {
		case s.State.Phase == mcp.Ready:
			last.Connected = s.State.Since.Round(0).UTC()
		case last.Status != record.StatusConnected: // a user is
			last.Connected = time.Now().Round(0).UTC()
		}
		last.Status, last.Tools = record.StatusConnected, s.Tools
	case host.StageDisabled:
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
