package host

import (
	"context"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
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
		_, err := h.allowedLaunch(h.ctx, e)
		denied := denial(err)
		unknown := denied != nil && denied.Err != nil
		if err == nil || unknown && now != nil && hashOf(e) == now.hash {
			return e
		}
	}
	return entries[0]
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
