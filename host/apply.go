package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
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
	// Overtaken are servers about which a later Apply decides: they become what that one
	// wants.
	Overtaken []string
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
// servers were ready: these go on to be started. It is [ErrClosed] if the host is closed,
// and another if c is not a config that a file could say: it is nil, or has an entry that
// is nil or without a name, or two of one name. Then nothing was done.
func (h *Host) Apply(ctx context.Context, c *config.Config) (Report, error) {
	need(ctx)
	if err := h.made(); err != nil {
		return Report{}, err
	}
	steps, err := h.prepare(c)
	if err != nil {
		return Report{}, err
	}
	var wg sync.WaitGroup
	for i := range steps {
		if st := &steps[i]; !st.done {
			wg.Go(func() { st.outcome, st.err = h.take(ctx, st) })
		}
	}
	wg.Wait()
	report, required := h.report(steps)
	h.events.Record(ctx, events.OfConfig("apply", "", required.orNil()))
	if ctx.Err() != nil {
		required.cutOff(ctx, &report)
	}
	return report, required.orNil()
}

// prepare has the Apply of a config decide about all servers, and finds out what there
// is to do.
func (h *Host) prepare(c *config.Config) ([]step, error) {
	if err := sound(c); err != nil {
		return nil, err
	}
	leave, err := h.visit()
	if err != nil {
		return nil, err
	}
	defer leave()
	steps, err := h.plan(c)
	if err != nil {
		return nil, err
	}
	if len(h.choosing()) > 0 {
		h.followConsents()
	}
	h.warn(c)
	return steps, nil
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
// The names are those of the servers that load may return. Calls with a name in common call
// load one after the other, and the last of them decides: what load has saved last is also
// what runs at last. They do not wait for each other's servers. The verb says in
// [Options].Activity what is done, such as "add".
//
// The context of load ends when the host is closed, and not with ctx: if ctx ends before
// all is done, ApplyServers returns its error, and what load has returned is applied all the
// same. Else the error is that of load, [ErrClosed], or a [*ServersError].
func (h *Host) ApplyServers(ctx context.Context, verb string, names []string, load func(context.Context) (map[string]*config.Server, error)) (Report, error) {
	need(ctx)
	if err := h.made(); err != nil {
		return Report{}, err
	}
	if len(names) == 0 || load == nil {
		return Report{}, errors.New("host: ApplyServers: there are no names, or load is nil")
	}
	unlock, err := h.lockServers(ctx, names)
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
		report, err = h.applyServers(ctx, verb, names, load, unlock)
	}()
	select {
	case <-done:
		return report, err
	case <-ctx.Done():
		return Report{}, fmt.Errorf("server %q: what of it is saved already is carried out all the same: %w", names[0], ctx.Err())
	}
}

// lockServers waits for the right to load those servers.
func (h *Host) lockServers(ctx context.Context, names []string) (unlock func(), err error) {
	var unlocks []func()
	unlock = func() {
		for _, f := range unlocks {
			f()
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names))) // all in one order
	for _, name := range names {
		f, err := h.loading.Lock(ctx, name)
		if err != nil {
			unlock()
			return nil, fmt.Errorf("server %q: waiting for another change of it: %w", name, err)
		}
		unlocks = append(unlocks, f)
	}
	return unlock, nil
}

// applyServers loads servers and applies them. It unlocks when their order is settled.
func (h *Host) applyServers(ctx context.Context, verb string, names []string, load func(context.Context) (map[string]*config.Server, error), unlock func()) (Report, error) {
	following, cancel := h.whileOpen(context.WithoutCancel(ctx))
	defer cancel()
	entries, err := h.loadServers(following, load)
	steps := h.planServers(entries)
	unlock()
	name := names[0]
	for _, st := range steps[:min(1, len(steps))] {
		name = st.slot.name
	}
	h.events.Record(ctx, events.OfConfig(verb, name, err))
	if err != nil {
		return Report{}, err
	}
	for i := range steps {
		if st := &steps[i]; !st.done {
			st.outcome, st.err = h.take(following, st)
		}
	}
	report, required := h.report(steps)
	return report, required.orNil()
}

// loadServers calls load, and logs the warnings of what it returns.
func (h *Host) loadServers(ctx context.Context, load func(context.Context) (map[string]*config.Server, error)) (entries map[string]*config.Server, err error) {
	defer h.caught("what loads servers", &err)
	if entries, err = load(ctx); err != nil {
		return nil, err
	}
	for name, entry := range entries {
		if entry == nil {
			continue
		}
		if entry.Name != name {
			return nil, fmt.Errorf("host: ApplyServers: load returned the server %q as %q", entry.Name, name)
		}
		h.warn(&config.Config{Servers: []*config.Server{entry}, Warnings: entry.Warnings})
	}
	return entries, nil
}

// planServers has the call decide about the servers of entries, and returns what there is
// to do: first what starts, so that no tool of a renamed server is missing.
func (h *Host) planServers(entries map[string]*config.Server) []step {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	var steps, removals []step
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, hash, sl := entries[name], "", h.slots[name]
		switch {
		case sl == nil && entry == nil:
			continue
		case sl == nil:
			sl = h.newSlot(name)
			h.slots[name] = sl
			h.order = append(slices.Clone(h.order), name)
		}
		if entry != nil {
			entry = h.scopes.keep(entry)
			hash = hashOf(entry)
		}
		h.generation++
		st := step{slot: sl, entry: entry, generation: h.generation, done: sl.claim(h.generation, entry, hash, nil)}
		if entry == nil {
			removals = append(removals, st)
		} else {
			steps = append(steps, st)
		}
	}
	return append(steps, removals...)
}

// A step is what an Apply does with one server.
type step struct {
	slot       *slot
	entry      *config.Server // nil: it is removed
	generation uint64         // of the Apply
	outcome    outcome
	err        error
	done       bool          // nothing is to be done
	begun      chan struct{} // closed when what can be done at once is done; may be nil
}

// plan has the Apply decide about all servers, and finds out what there is to do.
func (h *Host) plan(c *config.Config) ([]step, error) {
	entries, hashes := slices.Clone(c.Servers), make([]string, len(c.Servers))
	choices := choicesOf(c)
	for i, entry := range entries {
		if ch := choices[entry.Name]; ch != nil {
			sl, _ := h.slot(entry.Name)
			entries[i] = h.choose(sl, ch)
		}
		hashes[i] = hashOf(entries[i])
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	h.generation++
	steps := make([]step, 0, len(c.Servers))
	named := make(map[string]bool, len(c.Servers))
	order := make([]string, 0, len(c.Servers))
	for i, entry := range entries {
		sl := h.slots[entry.Name]
		if sl == nil {
			sl = h.newSlot(entry.Name)
			h.slots[entry.Name] = sl
		}
		named[entry.Name] = true
		order = append(order, entry.Name)
		if kept := h.scopes.keep(entry); kept != entry {
			entry, hashes[i] = kept, hashOf(kept)
		}
		ch := choices[entry.Name]
		if ch != nil {
			for j := range ch.entries {
				ch.entries[j] = h.scopes.keep(ch.entries[j])
			}
			ch.last = entry
		}
		steps = append(steps, step{slot: sl, entry: entry, generation: h.generation, done: sl.claim(h.generation, entry, hashes[i], ch)})
	}
	for _, name := range h.order {
		if !named[name] {
			sl := h.slots[name]
			sl.claim(h.generation, nil, "", nil)
			steps = append(steps, step{slot: sl, generation: h.generation})
			order = append(order, name) // until it is stopped
		}
	}
	h.order = order
	return steps, nil
}

// take takes a step.
func (h *Host) take(ctx context.Context, st *step) (outcome, error) {
	entry := st.entry
	if s := st.slot.now(); entry == nil && s != nil {
		entry = s.entry
	}
	began := time.Now()
	did, until, err := h.begin(ctx, st)
	if err == nil && until != nil {
		err = until(ctx)
	}
	if errors.Is(err, ErrOvertaken) {
		return overtaken, nil
	}
	if kind := did.kind(); kind != "" && entry != nil {
		h.events.Record(ctx, events.OfServer(kind, entry, began, err))
	}
	return did, err
}

// begin does what is to be done at once, and returns what is to be waited for then.
func (h *Host) begin(ctx context.Context, st *step) (outcome, wait, error) {
	defer st.slot.stepped()
	if st.begun != nil {
		defer close(st.begun)
	}
	st.slot.interrupt(true)
	own, leave, err := st.slot.enter(ctx, false)
	if err != nil {
		return failed, nil, err
	}
	defer leave()
	if !st.slot.decides(st.generation) {
		return overtaken, nil, nil
	}
	did, until, err := st.slot.become(own, st.entry)
	if st.entry == nil {
		h.remove(st.slot, st.generation)
	}
	if err != nil && context.Cause(own) == ErrOvertaken {
		return overtaken, nil, nil
	}
	return did, until, err
}

// kind returns the kind of event that an outcome is; empty if it is none.
func (o outcome) kind() activity.Kind {
	switch o {
	case started:
		return activity.KindStart
	case stopped:
		return activity.KindStop
	case replaced, failed:
		return activity.KindReplace
	}
	return ""
}

// remove forgets a slot, unless a later Apply wants something there.
func (h *Host) remove(sl *slot, generation uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !sl.decides(generation) {
		return
	}
	delete(h.slots, sl.name)
	order := make([]string, 0, len(h.order))
	for _, name := range h.order {
		if name != sl.name {
			order = append(order, name)
		}
	}
	h.order = order
}

// report says what was done, and which errors are those of required servers.
func (h *Host) report(steps []step) (Report, *ServersError) {
	report := Report{Failed: map[string]error{}}
	required := &ServersError{Failed: map[string]error{}}
	for _, st := range steps {
		name := st.slot.name
		switch st.outcome {
		case kept:
			if st.entry != nil {
				report.Kept = append(report.Kept, name)
			}
		case started:
			var denied *LaunchNotAllowedError
			if errors.As(st.err, &denied) {
				report.NotAllowed = append(report.NotAllowed, name)
			} else {
				report.Started = append(report.Started, name)
			}
		case stopped:
			report.Stopped = append(report.Stopped, name)
		case replaced:
			report.Replaced = append(report.Replaced, name)
		case overtaken:
			report.Overtaken = append(report.Overtaken, name)
		}
		if st.err != nil {
			report.Failed[name] = st.err
			if st.entry != nil && st.entry.Required {
				required.Failed[name] = st.err
			}
		}
	}
	return report, required
}
