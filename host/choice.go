package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
)

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

// waiting returns the entries that are stronger than the one that runs, and
// so wait to be allowed.
func (sv *supervisor) waiting() []*config.Server {
	entries, s := sv.deciding().entries, sv.now()
	if s == nil || len(entries) < 2 {
		return nil
	}
	i := slices.IndexFunc(entries, func(e *config.Server) bool { return hashOf(e) == s.hash })
	return entries[:max(i, 0)]
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
