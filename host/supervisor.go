package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A supervisor starts, replaces and stops the server of one configured name. It stays when the
// server is replaced, and so do the registry's tools, which call whatever server it has.
type supervisor struct {
	host  *Host
	name  string
	meter *callMeter

	// changing holds a token while the server is started, stopped or replaced.
	changing chan struct{}

	obeying atomic.Bool // it is being started or stopped, since others have decided so

	mu            sync.Mutex              // guards the following
	server        *server                 // nil before the first and after the last
	wanted        *step                   // the step that decides; nil before the first
	pendingSteps  int                     // steps that have claimed the supervisor and not changed it yet
	cancelChange  context.CancelCauseFunc // cancels the change that holds the token of changing; nil: there is none
	interruptible bool                    // that change is cancelled by Disable, too, and not by an Apply alone
	applying      string                  // hash of the entry that the change brings about; empty: of none

	unapplied *Unapplied  // the configured entry that does not work; nil: the server runs as configured
	retry     *time.Timer // of that; may be nil
}

// enter waits for the right to start, stop or replace the server. The context that it
// returns ends with ctx, when the host is closed, and when the change is interrupted; one
// that is interruptible is interrupted at once if an Apply waits.
func (sv *supervisor) enter(ctx context.Context, interruptible bool) (own context.Context, leave func(), err error) {
	own, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(sv.host.intake, func() { cancel(ErrClosed) })
	select {
	case sv.changing <- struct{}{}:
	case <-own.Done():
		stop()
		if sv.host.isClosing() { // which may be what has ended it
			return nil, nil, ErrClosed
		}
		return nil, nil, fmt.Errorf("server %q: waiting for another change of it: %w", sv.name, ctx.Err())
	}
	sv.mu.Lock()
	sv.cancelChange, sv.interruptible = cancel, interruptible
	if interruptible && sv.pendingSteps > 0 {
		cancel(ErrOvertaken)
	}
	sv.mu.Unlock()
	leave = func() {
		sv.mu.Lock()
		sv.cancelChange, sv.applying = nil, ""
		sv.mu.Unlock()
		stop()
		cancel(nil)
		<-sv.changing
	}
	if sv.host.isClosing() {
		leave()
		return nil, nil, ErrClosed
	}
	return own, leave, nil
}

// interrupt cancels what the present change of the server waits for, if there is one and it is
// interruptible. The step of an Apply cancels any, unless it brings about the entry that the step wants.
func (sv *supervisor) interrupt(by *step) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	isSame := by != nil && by.entry != nil && hashOf(by.entry) == sv.applying
	if sv.cancelChange != nil && !isSame && (sv.interruptible || by != nil) {
		sv.cancelChange(ErrOvertaken)
	}
}

// now returns the server that runs, or stands there without running; nil: there is none.
func (sv *supervisor) now() *server {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.server
}

// get returns the server that there is, or why there is none.
func (sv *supervisor) get() (*server, error) {
	if sv.host.isClosing() {
		return nil, mcp.WithOutcome(ErrClosed, mcp.NotSent)
	}
	if s := sv.now(); s != nil {
		return s, nil
	}
	return nil, mcp.WithOutcome(&UnknownServerError{sv.name, sv.host.names()}, mcp.NotSent)
}

// server returns the server of a name, or why there is none.
func (h *Host) server(name string) (*server, error) {
	sv, err := h.supervisor(name)
	if err != nil {
		return nil, err
	}
	return sv.get()
}

func (sv *supervisor) set(s *server) {
	sv.mu.Lock()
	sv.server = s
	sv.mu.Unlock()
	sv.host.changed.Ring()
	sv.host.followConsents()
}

// claim has a step decide about the server, and reports whether nothing is to be done: the server
// that it wants stands there, and no step is about to change that.
func (sv *supervisor) claim(st *step) (done bool) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.wanted = st
	if st.entry != nil && sv.server != nil && sv.server.hash == hashOf(st.entry) && sv.pendingSteps == 0 {
		sv.server.move(st.entry)
		sv.forgetLocked()
		return true
	}
	sv.pendingSteps++
	return false
}

// stepped notes that an Apply has changed what it had to.
func (sv *supervisor) stepped() {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.pendingSteps--
}

// decides reports whether a step is the one that decides.
func (sv *supervisor) decides(st *step) bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.wanted == st
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

// apply makes the supervisor run an entry, or nothing if it is nil, and returns what is to be
// waited for then. The caller has entered.
func (sv *supervisor) apply(ctx context.Context, entry *config.Server) (outcome, wait, error) {
	if entry != nil {
		sv.mu.Lock()
		sv.applying = hashOf(entry)
		sv.mu.Unlock()
	}
	did, until, err := sv.transition(ctx, entry)
	if err != nil && errors.Is(context.Cause(ctx), ErrOvertaken) { // what has overtaken it says how the server stands
		return did, until, err
	}
	unapplied := err
	if s := sv.now(); did != failed || s == nil || s.hash == hashOf(entry) {
		unapplied = nil
	}
	sv.note(entry, unapplied)
	return did, until, err
}

// transition takes the server from one entry to another:
//
//	entry                   server there    transition
//	none                    any             stop
//	the same                any             none
//	invalid                 active          none: it goes on as it is
//	disabled or invalid     any other       stop, and stand there without running
//	any other               not active      start in its place
//	its launch is not       active          stop, and stand there without running
//	  allowed
//	in quarantine           not in it       stop, and start in its place
//	any other               active          replace: start beside it, and take its place when ready
func (sv *supervisor) transition(ctx context.Context, entry *config.Server) (outcome, wait, error) {
	old := sv.now()
	switch {
	case entry == nil && old == nil:
		return kept, nil, nil
	case entry == nil:
		sv.set(nil)
		sv.host.opts.Logins.Forget(sv.name)
		sv.host.inBackground(old.stop(true))
		return stopped, nil, nil
	case old != nil && old.hash == hashOf(entry):
		old.move(entry)
		return kept, nil, nil
	}
	next := sv.newServer(entry)
	active := old != nil && old.usable()
	switch {
	case entry.Err != nil && active:
		return failed, nil, next.outcome()
	case !next.enabled:
		sv.host.inBackground(sv.put(old, next))
		did := noted
		if active {
			did = stopped
		} else if next.err != nil {
			did = failed
		}
		return did, nil, next.outcome()
	case !active:
		sv.start(old, next)
		if err := next.outcome(); denial(err) != nil {
			return started, nil, err
		}
		return started, next.untilStarted(), nil
	}
	denied := sv.host.notAllowed(ctx, entry)
	switch {
	case denied != nil && denied.Err != nil: // it is not known whether it may start: what was allowed goes on
		return failed, nil, denied
	case denied != nil, next.quarantined() && !old.quarantined(): // which begins at once, however next does
		sv.host.inBackground(sv.put(old, next))
		next.start(true)
		if denied != nil {
			return stopped, nil, next.outcome()
		}
		return replaced, next.untilStarted(), nil
	}
	did, err := sv.replace(ctx, old, next)
	return did, nil, err
}

// put stops old, which may be nil, takes its tools out of the registry, and has next stand in
// its place. It returns what waits for the calls of old.
func (sv *supervisor) put(old, next *server) wait {
	if old == nil {
		sv.set(next)
		return nil
	}
	old.withdraw(true) // before the status says that it does not run
	sv.set(next)
	return old.stop(true)
}

// start starts next in the place of old, which does not run, or is nil. Tools that old
// is still listed with, having been lost, stay as long as those of a lost server do.
func (sv *supervisor) start(old, next *server) {
	if old != nil {
		next.copyTools(old)
		next.loseTools()
		sv.host.inBackground(old.stop(false))
	}
	sv.set(next)
	next.start(true)
}

// replace starts next beside old, which serves until next is ready and then finishes
// its calls in the background. If next fails and old works, or is the same, old stays; if both
// fail, next takes its place, and the tools stay listed as those of a lost server do. So they do if
// next wants a login, which is not possible as long as old stands there.
func (sv *supervisor) replace(ctx context.Context, old, next *server) (outcome, error) {
	next.copyTools(old)
	next.start(false)
	err := next.firstAttempt(ctx)
	same := old.hash == next.hash
	if err == nil && same && next.entry.Lazy { // what is known of it from an earlier time is no answer
		err = next.relist(ctx)
	}
	if err != nil {
		if same || old.serves() && next.status().Stage != StageLogin || sv.host.isClosing() {
			sv.host.opts.Logins.Use(old.entry)
			sv.host.inBackground(next.stop(false))
			return failed, err
		}
		next.loseTools()
	}
	old.withdraw(false)
	next.publish()
	sv.set(next)
	sv.host.inBackground(old.stop(false))
	return replaced, err
}

func (h *Host) isClosing() bool { return h.intake.Err() != nil }

// whileOpen returns a context that ends with ctx, and when the host is being closed.
func (h *Host) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.intake, cancel)
	return ctx, func() { stop(); cancel() }
}
