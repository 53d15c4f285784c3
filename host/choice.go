package host

import (
	"context"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// A choice is which of several entries of one name a slot runs: the strongest that may
// be started. What a project's file says hides a server of the user only when it was
// allowed.
type choice struct {
	entries []*config.Server // strongest first
	last    *config.Server   // that was chosen; guarded by the mutex of the host
}

// choicesOf returns the choices that a config leaves, by name: of the sound entries of a
// scope whose launches have to be allowed, with those that they hide.
func choicesOf(c *config.Config) map[string]*choice {
	choices := make(map[string]*choice)
	usable := func(e *config.Server) bool { return e.Enabled && e.Err == nil }
	for _, e := range c.Servers {
		if e.Source.Scope.NeedsApproval() && usable(e) {
			choices[e.Name] = &choice{entries: []*config.Server{e}}
		}
	}
	for _, hidden := range c.Shadowed {
		if hidden.Server == nil || hidden.By == nil || !usable(hidden.Server) {
			continue
		}
		if ch := choices[hidden.By.Name]; ch != nil && ch.entries[0] == hidden.By && hidden.Server.Name == hidden.By.Name {
			ch.entries = append(ch.entries, hidden.Server)
		}
	}
	for name, ch := range choices {
		if len(ch.entries) == 1 {
			delete(choices, name)
		}
	}
	return choices
}

// choose returns the entry that is to run now. Without any that may be started it is the
// first, which waits; and while it is not known what was allowed that which runs.
func (h *Host) choose(sl *slot, ch *choice) *config.Server {
	running := ""
	if sl != nil {
		if s := sl.now(); s != nil {
			running = s.hash
		}
	}
	for _, e := range ch.entries {
		_, err := h.allowedLaunch(h.ctx, e)
		denied := denial(err)
		unknown := denied != nil && denied.Err != nil
		if err == nil || unknown && hashOf(e) == running {
			return e
		}
	}
	return ch.entries[0]
}

// reconsider has a slot run what is chosen now, unless that is what was chosen last, an
// Apply has another choice meanwhile, or the server is switched off.
func (h *Host) reconsider(ctx context.Context, sl *slot) error {
	ch := sl.choices()
	entry, changed := h.chooses(sl)
	if !changed {
		return nil
	}
	h.mu.Lock()
	if h.closed || h.slots[sl.name] != sl || sl.choices() != ch {
		h.mu.Unlock()
		return nil
	}
	st := h.claimLocked(sl.name, entry, ch)
	h.mu.Unlock()
	h.take(ctx, &st)
	return st.err
}

// chooses returns the entry that is chosen now, if it is another one than was last.
func (h *Host) chooses(sl *slot) (entry *config.Server, changed bool) {
	ch := sl.choices()
	if ch == nil || !sl.enabled() {
		return nil, false
	}
	entry = h.choose(sl, ch)
	h.mu.Lock()
	defer h.mu.Unlock()
	return entry, ch.last != entry
}

// waiting returns the entries that are stronger than the one that stands in the slot, and
// so wait to be allowed.
func (sl *slot) waiting() []*config.Server {
	ch, s := sl.choices(), sl.now()
	if ch == nil || s == nil {
		return nil
	}
	for i, e := range ch.entries {
		if hashOf(e) == s.hash {
			return ch.entries[:i]
		}
	}
	return nil
}

// enabled reports whether a server stands in the slot that is not switched off.
func (sl *slot) enabled() bool {
	s := sl.now()
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enabled
}

// choices returns the choice of the slot, or nil if it has none.
func (sl *slot) choices() *choice {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.choice
}
