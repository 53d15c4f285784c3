package host

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Report says what [Host.Apply] did, by the names of servers, in the order of
// the configuration.
type Report struct {
	Started  []string // new, or enabled now
	Stopped  []string // gone, or disabled now
	Replaced []string // changed, and running as configured now
	Kept     []string // not changed
	// Failed holds the reasons for which servers could not be started, or for
	// which a changed entry does not work. A server that worked before Apply
	// goes on as it was; any other is tried again in the background.
	Failed map[string]error
}

// A change is what Apply does with one entry of the configuration.
type change struct {
	old, next *server // old is nil for a new entry
	stays     *server // what runs afterwards: old or next
	done      *[]string
	err       error
}

// Apply makes the host run the servers of c. A server whose entry is the same
// as before is not touched, and keeps what Enable and Disable made of it. A
// changed one is started beside the old one, which serves until the new one is
// ready and is then left to finish its calls in the background; if the new one
// fails, the old one stays. Apply returns when every server that it started is
// ready or has failed its first attempt.
//
// The error is nil unless a required server failed, ctx ended, or the host is
// closed.
func (h *Host) Apply(ctx context.Context, c *config.Config) (Report, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return Report{}, err
	}
	defer leave()
	report := Report{Failed: map[string]error{}}
	changes, gone := h.compare(c)

	var wg sync.WaitGroup
	for _, s := range gone {
		report.Stopped = append(report.Stopped, s.entry.Name)
		wg.Go(func() { h.retire(s, true) })
	}
	shown := make([]*server, len(changes))
	for i, ch := range changes {
		shown[i] = ch.next
		if ch.old != nil {
			shown[i] = ch.old
		}
		wg.Go(func() { h.carryOut(ctx, ch, &report) })
	}
	h.set(shown)
	wg.Wait()

	var required []error
	servers := make([]*server, len(changes))
	for i, ch := range changes {
		servers[i] = ch.stays
		name := ch.next.entry.Name
		if ch.done != nil {
			*ch.done = append(*ch.done, name)
		}
		if ch.err != nil {
			report.Failed[name] = ch.err
			if ch.next.entry.Required {
				required = append(required, ch.err)
			}
		}
	}
	h.set(servers)
	if err := ctx.Err(); err != nil {
		return report, err
	}
	return report, errors.Join(required...)
}

// compare pairs the entries of c with the servers there are.
func (h *Host) compare(c *config.Config) (changes []*change, gone []*server) {
	before, _ := h.snapshot()
	old := make(map[string]*server, len(before))
	for _, s := range before {
		old[s.entry.Name] = s
	}
	for _, entry := range c.Servers {
		changes = append(changes, &change{old: old[entry.Name], next: h.newServer(entry)})
		delete(old, entry.Name)
	}
	for _, s := range before {
		if old[s.entry.Name] != nil {
			gone = append(gone, s)
		}
	}
	return changes, gone
}

// carryOut makes one change. It writes nothing but ch; done points to the list
// of the report that it belongs to.
func (h *Host) carryOut(ctx context.Context, ch *change, report *Report) {
	old, next := ch.old, ch.next
	running := old != nil && old.running() != nil
	switch {
	case old != nil && old.hash == next.hash:
		old.move(next.entry.Source)
		ch.stays, ch.done = old, &report.Kept
	case next.entry.Err != nil && running:
		ch.stays, ch.err = old, next.outcome()
	case !next.enabled:
		ch.stays, ch.err = next, next.outcome()
		if running {
			ch.done = &report.Stopped
			h.retire(old, true)
		}
	case !running:
		next.start(true)
		ch.stays, ch.done, ch.err = next, &report.Started, next.firstAttempt(ctx)
	default:
		next.start(false)
		ch.err = next.firstAttempt(ctx)
		if ch.err != nil && old.status().State.Phase == mcp.Ready {
			ch.stays = old
			h.retire(next, false)
			return
		}
		ch.stays, ch.done = next, &report.Replaced
		old.withdraw()
		next.publish()
		h.retire(old, false)
	}
}

// retire ends a server in the background, when its calls have finished.
func (h *Host) retire(s *server, removeTools bool) {
	c := s.running()
	if c == nil {
		return
	}
	s.unfollow(removeTools)
	h.retiring.Go(func() { _ = c.Shutdown(h.ctx) })
}
