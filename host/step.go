package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
)

// claimLocked has a change decide about one server: it is to run as an entry, which was
// chosen of several, or is to be removed if that is nil. A step decides
// until another one for the server is made. It needs the lock of the host.
func (h *Host) claimLocked(name string, entry *config.Server, entries []*config.Server) *step {
	sv := h.supervisors[name]
	if sv == nil {
		sv = h.newSupervisor(name)
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
