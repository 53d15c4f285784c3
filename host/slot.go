package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A slot is the place of one configured server in a host. It stays when the server is
// replaced, and so do the registry's tools, which call whatever server stands in it.
type slot struct {
	host  *Host
	name  string
	meter *callMeter

	// changing holds a token while the server is started, stopped or replaced.
	changing chan struct{}

	mu     sync.Mutex              // guards the following
	server *server                 // nil before the first and after the last
	wanted uint64                  // number of the Apply that decides
	choice *choice                 // that it has left; nil: none
	steps  int                     // of those that are about to change the entry
	giveUp context.CancelCauseFunc // interrupts the change that holds the token of changing; may be nil
	yields bool                    // it is interrupted by others than an Apply

	unapplied *Unapplied  // what the server was to become and has not; nil: nothing
	retry     *time.Timer // of that; may be nil
}

func (h *Host) newSlot(name string) *slot {
	return &slot{host: h, name: name, meter: new(callMeter), changing: make(chan struct{}, 1)}
}

// enter waits for the right to start, stop or replace the server. The context that it
// returns ends with ctx, when the host is closed, and when the holder of the right is
// interrupted; one that yields is at once if an Apply waits.
func (sl *slot) enter(ctx context.Context, yields bool) (own context.Context, leave func(), err error) {
	select {
	case sl.changing <- struct{}{}:
	case <-ctx.Done():
		if sl.host.isClosing() { // which may be what has ended it
			return nil, nil, ErrClosed
		}
		return nil, nil, fmt.Errorf("server %q: waiting for another change of it: %w", sl.name, ctx.Err())
	case <-sl.host.intake.Done():
		return nil, nil, ErrClosed
	}
	own, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(sl.host.intake, func() { cancel(ErrClosed) })
	sl.mu.Lock()
	sl.giveUp, sl.yields = cancel, yields
	overtaken := yields && sl.steps > 0
	sl.mu.Unlock()
	if overtaken {
		cancel(ErrOvertaken)
	}
	leave = func() {
		sl.mu.Lock()
		sl.giveUp = nil
		sl.mu.Unlock()
		stop()
		cancel(nil)
		<-sl.changing
	}
	if sl.host.isClosing() {
		leave()
		return nil, nil, ErrClosed
	}
	return own, leave, nil
}

// interrupt has the change that holds the right wait no longer for anything, if it yields or, for an Apply, in any case.
func (sl *slot) interrupt(apply bool) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.giveUp != nil && (sl.yields || apply) {
		sl.giveUp(ErrOvertaken)
	}
}

// now returns the server that stands in the slot, or nil.
func (sl *slot) now() *server {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.server
}

// isReady reports whether a server stands in the slot that is of use.
func (sl *slot) isReady() bool {
	s := sl.now()
	if s == nil {
		return false
	}
	stage := s.status().Stage
	return stage == StageReady || stage == StageCached || stage == StageQuarantined
}

// present returns the server that stands in the slot.
func (sl *slot) present() (*server, error) {
	if sl.host.isClosing() {
		return nil, mcp.WithOutcome(ErrClosed, mcp.NotSent)
	}
	if s := sl.now(); s != nil {
		return s, nil
	}
	return nil, mcp.WithOutcome(&UnknownServerError{sl.name, sl.host.names()}, mcp.NotSent)
}

func (sl *slot) set(s *server) {
	sl.mu.Lock()
	sl.server = s
	sl.mu.Unlock()
	sl.host.broadcast()
	if s != nil && s.needsConsent() {
		sl.host.followConsents()
	}
}

// claim has an Apply decide about the server, and reports whether nothing is to be done: the server
// that it wants, known by its hash, stands there, and no step is about to change that. The
// choice is nil if there is none.
func (sl *slot) claim(generation uint64, entry *config.Server, hash string, ch *choice) (done bool) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.wanted, sl.choice = generation, ch
	if entry != nil && sl.server != nil && sl.server.hash == hash && sl.steps == 0 {
		sl.server.move(entry)
		sl.forgetLocked()
		return true
	}
	sl.steps++
	return false
}

// stepped notes that an Apply has changed what it had to.
func (sl *slot) stepped() {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.steps--
}

// decides reports whether an Apply is the one that decides.
func (sl *slot) decides(generation uint64) bool {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.wanted == generation
}

// An outcome is what became of a server.
type outcome int

const (
	kept outcome = iota
	started
	stopped
	replaced
	failed    // what was there before, if anything, is there still
	noted     // it does not run, and did not
	overtaken // a later Apply decides
)

// become makes the slot run an entry, or nothing if it is nil, and returns what is to be
// waited for then. The caller has entered.
func (sl *slot) become(ctx context.Context, entry *config.Server) (outcome, wait, error) {
	did, until, err := sl.turn(ctx, entry)
	if s := sl.now(); did == failed && s != nil && s.hash != hashOf(entry) {
		sl.note(entry, err)
	} else {
		sl.forget()
	}
	return did, until, err
}

// turn is become, without a note of what did not work.
func (sl *slot) turn(ctx context.Context, entry *config.Server) (outcome, wait, error) {
	old := sl.now()
	switch {
	case entry == nil && old == nil:
		return kept, nil, nil
	case entry == nil:
		sl.set(nil)
		sl.host.forgetLogin(sl.name)
		old.retire(true)
		return stopped, nil, nil
	case old != nil && old.hash == hashOf(entry):
		old.move(entry)
		return kept, nil, nil
	}
	next := sl.newServer(entry)
	active := old != nil && old.active()
	switch {
	case entry.Err != nil && active:
		return failed, nil, next.outcome()
	case !next.enabled:
		if old != nil {
			old.tools.clear()
		}
		sl.set(next)
		if old != nil {
			old.retire(true)
		}
		switch {
		case active:
			return stopped, nil, next.outcome()
		case next.err != nil:
			return failed, nil, next.outcome()
		}
		return noted, nil, nil
	case !active:
		sl.succeed(old, next)
		var denied *LaunchNotAllowedError
		if err := next.outcome(); errors.As(err, &denied) {
			return started, nil, err
		}
		return started, next.untilStarted(), nil
	}
	var denied *LaunchNotAllowedError
	if err := sl.host.notAllowed(ctx, entry); errors.As(err, &denied) {
		if denied.Err != nil { // it is not known whether it may start: what was allowed goes on
			return failed, nil, err
		}
		old.tools.clear()
		sl.set(next)
		old.retire(true)
		next.start(true)
		return stopped, nil, next.outcome()
	}
	if next.quarantined() && !old.quarantined() { // which begins at once, whatever becomes of it
		old.tools.clear()
		sl.set(next)
		old.retire(true)
		next.start(true)
		return replaced, next.untilStarted(), nil
	}
	did, err := sl.replace(ctx, old, next)
	return did, nil, err
}

// replace starts next beside old, which serves until next is ready and then finishes
// its calls in the background. If next fails and old works, old stays; if both fail,
// next does, and the tools stay listed as those of a lost server do. So they do if next
// wants a login, which is not possible as long as old stands there.
func (sl *slot) replace(ctx context.Context, old, next *server) (outcome, error) {
	next.tools.inherit(old)
	next.start(false)
	err := next.firstAttempt(ctx)
	switch {
	case err != nil && (old.serves() && next.status().Stage != StageLogin || sl.host.isClosing()):
		sl.host.useLogin(old.entry)
		next.retire(false)
		return failed, err
	case err != nil:
		next.tools.adopt(old)
	}
	sl.swap(old, next)
	return replaced, err
}

// succeed starts next in the place of old, which does not run, or is nil. Tools that old
// is still listed with, having been lost, stay as long as those of a lost server do.
func (sl *slot) succeed(old, next *server) {
	if old != nil {
		next.tools.adopt(old)
		old.retire(false)
	}
	sl.set(next)
	next.start(true)
}

// swap puts next in the place of old.
func (sl *slot) swap(old, next *server) {
	old.tools.close()
	next.tools.publish()
	sl.set(next)
	old.retire(false)
}

// active reports whether the server runs, or would on the next call.
func (s *server) active() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enabled && !s.stopped && (s.err == nil || s.conn != nil)
}

func (h *Host) isClosing() bool { return h.intake.Err() != nil }

// whileOpen returns a context that ends with ctx, and when the host is being closed.
func (h *Host) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.intake, cancel)
	return ctx, func() { stop(); cancel() }
}
