package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
)

// A Report says what [Host.Apply] did, by the names of servers, in the order of
// the configuration.
type Report struct {
	Started  []string // new, or enabled now
	Stopped  []string // gone, or disabled now
	Replaced []string // changed, and running as configured now
	Kept     []string // not changed
	// NotAllowed are servers that were not started since their launch has to be allowed first,
	// see [Host.PendingLaunches]. Failed has their [*LaunchNotAllowedError].
	NotAllowed []string
	// Failed holds the reasons for which servers could not be started, or for
	// which a changed entry does not work. A server that worked before Apply
	// goes on as it was; any other is tried again in the background.
	Failed map[string]error
}

// Apply makes the host run the servers of c. A server whose entry is the same
// as before is not touched, and keeps what Enable and Disable made of it. A
// changed one is started beside the old one, which serves until the new one is
// ready and its tools are in the registry, and is then left to finish its calls in the
// background; if the new one fails, the old one stays, unless all that the new one
// wants is a login. [Status.Unapplied] tells of that, and the new one is tried again.
// What has to be allowed is not replaced: a server whose changed entry was not allowed is
// stopped at once, and started when it is. Apply returns when every server that it started
// is ready or has failed its first attempt; it does not wait for lazy ones.
//
// Several Apply may run at a time, and each server goes its own way: where they differ
// about it the one that began last decides.
//
// The error is a [*ServersError] if a required server failed, or if ctx ended before all
// was done, which goes on all the same. It is that of ctx if that has ended before,
// [ErrClosed] if the host is closed, and another if c is not a config that a file could say: it is nil, or has an entry that
// is nil or without a name, or two of one name. Then nothing was done.
func (h *Host) Apply(ctx context.Context, c *config.Config) (Report, error) {
	need(ctx)
	if err := h.made(); err != nil {
		return Report{}, err
	}
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	steps, done, err := h.beginApply(ctx, c)
	if err != nil {
		return Report{}, err
	}
	await(ctx, done)
	return h.report(ctx, steps)
}

// beginApply has the Apply of a config decide about all servers, takes its steps in goroutines of the
// host, and returns them and what is closed when all have ended.
func (h *Host) beginApply(ctx context.Context, c *config.Config) (steps []*step, done <-chan struct{}, err error) {
	if err := sound(c); err != nil {
		return nil, nil, err
	}
	leave, err := h.visit()
	if err != nil {
		return nil, nil, err
	}
	if steps, err = h.plan(c); err != nil {
		leave()
		return nil, nil, err
	}
	h.following.Wake()
	h.warn(c.Warnings)
	going, stop := h.whileOpen(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer leave()
		defer stop()
		defer close(ended)
		var wg sync.WaitGroup
		for _, st := range steps {
			wg.Go(func() { h.take(going, st) })
		}
		wg.Wait()
		_, failed := h.report(ctx, steps)
		h.events.Record(ctx, events.OfConfig("apply", "", failed))
	}()
	return steps, ended, nil
}

// sound returns what is wrong with a config that was made by hand, or nil.
func sound(c *config.Config) error {
	if c == nil {
		return errors.New("host: there is no config: to stop all servers apply an empty one")
	}
	named := make(map[string]bool, len(c.Servers))
	for i, entry := range c.Servers {
		switch {
		case entry == nil:
			return fmt.Errorf("host: entry %d of the config is nil", i)
		case entry.Name == "":
			return fmt.Errorf("host: entry %d of the config has no name", i)
		case named[entry.Name]:
			return fmt.Errorf("host: two entries of the config have the name %q", entry.Name)
		}
		named[entry.Name] = true
	}
	return nil
}

// ApplyServers makes single servers as load says, and does not touch the others: each of
// the entries that it returns is applied as by [Host.Apply], by its name, and a server whose
// entry is nil is removed when the others are ready or have failed their first attempt.
//
// Calls call load one after the other, and the last of them decides: what load has saved last
// is also what runs at last. They do not wait for each other's servers. The verb and the name say
// in [Options].Activity what is done to which server, such as "add".
//
// The context of load ends when the host is closed, and not with ctx: if ctx ends before
// all is done, ApplyServers returns its error, and what load has returned is applied all the
// same. Else the error is that of load, [ErrClosed], or a [*ServersError].
func (h *Host) ApplyServers(ctx context.Context, verb, name string, load func(context.Context) (map[string]*config.Server, error)) (Report, error) {
	need(ctx)
	leave, err := h.visit()
	if err != nil {
		return Report{}, err
	}
	defer leave()
	if load == nil {
		return Report{}, errors.New("host: ApplyServers: load is nil")
	}
	select {
	case h.loading <- struct{}{}:
	case <-ctx.Done():
		return Report{}, fmt.Errorf("server %q: waiting for another change: %w", name, ctx.Err())
	}
	var report Report
	done := make(chan struct{})
	h.ending.Go(func() {
		defer close(done)
		report, err = h.applyServers(ctx, verb, name, load)
	})
	select {
	case <-done:
		return report, err
	case <-ctx.Done():
		return Report{}, fmt.Errorf("server %q: what of it is saved already is carried out all the same: %w", name, ctx.Err())
	}
}

// applyServers loads servers and applies them. It ends the turn of the caller when their order is settled.
func (h *Host) applyServers(ctx context.Context, verb, name string, load func(context.Context) (map[string]*config.Server, error)) (Report, error) {
	following, cancel := h.whileOpen(context.WithoutCancel(ctx))
	defer cancel()
	steps, err := h.loadServers(following, load)
	<-h.loading
	h.events.Record(ctx, events.OfConfig(verb, name, err))
	if err != nil {
		return Report{}, err
	}
	for _, st := range steps {
		h.take(following, st)
	}
	return h.report(following, steps)
}

// loadServers has the call decide about the servers that load returns, and returns what there
// is to do: first what starts, so that no tool of a renamed server is missing.
func (h *Host) loadServers(ctx context.Context, load func(context.Context) (map[string]*config.Server, error)) (steps []*step, err error) {
	entries, err := call(&h.shared, "what loads servers", func() (map[string]*config.Server, error) { return load(ctx) })
	if err != nil {
		return nil, err
	}
	for name, entry := range entries {
		switch {
		case entry == nil:
		case entry.Name != name:
			return nil, fmt.Errorf("host: ApplyServers: load returned the server %q as %q", entry.Name, name)
		default:
			h.warn(entry.Warnings)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosing() {
		return nil, nil
	}
	var removals []*step
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		switch entry := entries[name]; {
		case entry != nil:
			steps = append(steps, h.claimLocked(name, h.scopes.keep(entry), nil))
		case h.supervisors[name] != nil:
			removals = append(removals, h.claimLocked(name, nil, nil))
		}
	}
	return append(steps, removals...), nil
}

// plan has the Apply decide about all servers, and finds out what there is to do.
func (h *Host) plan(c *config.Config) ([]*step, error) {
	entries, chosen := make([][]*config.Server, len(c.Servers)), make([]*config.Server, len(c.Servers))
	for i, e := range c.Servers {
		var now *server
		if sv, err := h.supervisor(e.Name); err == nil {
			now = sv.now()
		}
		entries[i] = h.candidates(c, e)
		chosen[i] = h.choose(entries[i], now)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosing() {
		return nil, ErrClosed
	}
	var steps []*step
	var order []string
	for i, entry := range chosen {
		steps = append(steps, h.claimLocked(entry.Name, entry, entries[i]))
		order = append(order, entry.Name)
	}
	for _, name := range h.order {
		if !slices.Contains(order, name) {
			steps = append(steps, h.claimLocked(name, nil, nil))
			order = append(order, name) // until it is stopped
		}
	}
	h.order = order
	return steps, nil
}

// candidates returns an entry of a config and, if it is a sound one whose launch has to be allowed,
// the sound ones that it hides.
func (h *Host) candidates(c *config.Config, e *config.Server) []*config.Server {
	usable := func(e *config.Server) bool { return e != nil && !e.Disabled && e.Err == nil }
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []*config.Server{h.scopes.keep(e)}
	if !list[0].Source.Scope.NeedsApproval() || !usable(e) {
		return list
	}
	for _, hidden := range c.Shadowed {
		if hidden.By == e && usable(hidden.Server) && hidden.Server.Name == e.Name {
			list = append(list, h.scopes.keep(hidden.Server))
		}
	}
	return list
}

// claimLocked has a change decide about one server: it is to run as an entry, which was
// chosen of several, or is to be removed if that is nil. A step decides
// until another one for the server is made. It needs the lock of the host.
func (h *Host) claimLocked(name string, entry *config.Server, entries []*config.Server) *step {
	sv := h.supervisors[name]
	if sv == nil {
		sv = newSupervisor(&h.shared, name)
		h.supervisors[name] = sv
		h.order = append(slices.Clone(h.order), name)
	}
	st := &step{supervisor: sv, entry: entry, entries: entries, begun: make(chan struct{}), ended: make(chan struct{})}
	sv.claim(st)
	return st
}

// take takes a step, if anything is to be done.
func (h *Host) take(ctx context.Context, st *step) {
	if !st.waits() {
		return
	}
	sv, entry := st.supervisor, st.entry
	if s := sv.now(); entry == nil && s != nil {
		entry = s.entry
	}
	began := time.Now()
	did := lifecycle.Keep
	sv.interrupt(st)
	until, err := sv.hold(ctx, st, func(own context.Context, _ *server) (until wait, err error) {
		if sv.deciding() != st {
			return nil, ErrOvertaken
		}
		did, until, err = sv.apply(own, st.entry)
		if st.entry == nil {
			h.remove(sv, st)
		}
		if err != nil && errors.Is(context.Cause(own), ErrOvertaken) {
			err = ErrOvertaken
		}
		return until, err
	})
	close(st.begun)
	if err == nil && until != nil {
		err = until(ctx)
	}
	if !errors.Is(err, ErrOvertaken) {
		st.did, st.err = did, err
	}
	close(st.ended) // before those who hear of it can look
	h.record(ctx, st.did, entry, began, st.err)
}

// remove forgets a supervisor, unless a later Apply wants something there.
func (h *Host) remove(sv *supervisor, st *step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if sv.deciding() != st {
		return
	}
	delete(h.supervisors, sv.name)
	h.order = slices.DeleteFunc(slices.Clone(h.order), func(name string) bool { return name == sv.name })
}

// report says what was done. The error is a [*ServersError] if servers failed that are required or, if ctx has
// ended, are not ready.
func (h *Host) report(ctx context.Context, steps []*step) (Report, error) {
	report, failed := Report{Failed: map[string]error{}}, &ServersError{Failed: map[string]error{}}
	lists := map[lifecycle.Action]*[]string{
		lifecycle.None: &report.Kept, lifecycle.Launch: &report.Started, lifecycle.Stop: &report.Stopped,
		lifecycle.Restart: &report.Replaced, lifecycle.Promote: &report.Replaced,
	}
	for _, st := range steps {
		name := st.supervisor.name
		select {
		case <-st.ended:
		default:
			if failed.err = ctx.Err(); failed.err != nil {
				failed.Failed[name] = fmt.Errorf("server %q: %w", name, context.Cause(ctx))
				if st.entry != nil {
					failed.Failed[name] = fmt.Errorf("server %q (%s): %w", name, st.entry.Source, context.Cause(ctx))
				}
				report.Failed[name] = failed.Failed[name]
			}
			continue
		}
		list := lists[st.did]
		if st.did == lifecycle.Launch && denial(st.err) != nil {
			list = &report.NotAllowed
		}
		if list != nil {
			*list = append(*list, name)
		}
		if st.err != nil {
			report.Failed[name] = st.err
			if st.entry != nil && st.entry.Required {
				failed.Failed[name] = st.err
			}
		}
	}
	if len(failed.Failed) == 0 {
		return report, nil
	}
	return report, failed
}

// choose returns which of the entries of one name is to run in the place of a server, which may be
// nil: what a project's file says hides an entry of the user only when it was allowed. Without any
// that may be started it is the first, which waits; and while it is not known what was allowed that
// which runs.
func (h *Host) choose(entries []*config.Server, now *server) *config.Server {
	for _, e := range entries {
		if len(entries) == 1 {
			break
		}
		_, err := h.consents.allowedLaunch(h.ctx, e)
		denied := denial(err)
		unknown := denied != nil && denied.Err != nil
		if err == nil || unknown && now != nil && hashOf(e) == now.hash {
			return e
		}
	}
	return entries[0]
}

// chooses returns the entry that is chosen now, and of which, if it is another one than was last.
func (h *Host) chooses(sv *supervisor) (entry *config.Server, entries []*config.Server) {
	last := sv.deciding()
	if len(last.entries) > 1 && sv.enabled() {
		if entry = h.choose(last.entries, sv.now()); entry != last.entry {
			return entry, last.entries
		}
	}
	return nil, nil
}

// reconsider has a supervisor run what is chosen now, unless that is what was chosen last, an
// Apply has another choice meanwhile, or the server is switched off.
func (h *Host) reconsider(ctx context.Context, sv *supervisor) error {
	entry, entries := h.chooses(sv)
	if entry == nil {
		return nil
	}
	h.mu.Lock()
	if h.isClosing() || h.supervisors[sv.name] != sv || !slices.Equal(sv.deciding().entries, entries) {
		h.mu.Unlock()
		return nil
	}
	st := h.claimLocked(sv.name, entry, entries)
	h.mu.Unlock()
	h.take(ctx, st)
	return st.err
}
