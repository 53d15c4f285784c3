package host

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/internal/lifecycle"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
)

const (
	unappliedBase    = 2 * time.Second
	unappliedCeiling = 2 * time.Minute
)

// A supervisor starts, replaces and stops the server of one configured name. It stays when the
// server is replaced.
type supervisor struct {
	target

	// changing holds a token while the server is started, stopped or replaced.
	changing chan struct{}

	obeying atomic.Bool // it is being started or stopped, since others have decided so

	// The mu of target guards the following.

	wanted *step   // the step that decides; one without an entry before the first
	change *change // that holds the token of changing; nil: there is none
}

// newSupervisor returns a supervisor without a server.
func newSupervisor(h *shared, name string) *supervisor {
	first := &step{begun: make(chan struct{})}
	close(first.begun)
	sv := &supervisor{target: target{host: h, name: name, meter: new(callMeter), state: lifecycle.Absent}, changing: make(chan struct{}, 1), wanted: first}
	sv.call = sv.callTool
	return sv
}

// A step is what an Apply does with one server.
type step struct {
	supervisor *supervisor
	entry      *config.Server   // nil: it is removed
	entries    []*config.Server // of which it was chosen, strongest first: the first that may be started is to run

	begun chan struct{} // closed when what can be done at once is done
	ended chan struct{} // closed when the following are known

	did lifecycle.Action // empty if another step decides
	err error
}

// waits reports whether the step has something to do yet.
func (st *step) waits() bool {
	select {
	case <-st.begun:
		return false
	default:
		return true
	}
}

// A change starts, stops or replaces a server.
type change struct {
	cancel context.CancelCauseFunc
	step   *step  // of an Apply, that it is; nil: it is another change, which Disable cancels, too
	hash   string // of the entry that it brings about; empty: of none
}

// hold waits for the right to change the server, and runs f, for the step of an Apply or, if that is nil, for
// another change. The context that f gets ends with ctx, when the host is closed, and when the change is
// interrupted; one that is no step is interrupted at once if a step waits.
func (sv *supervisor) hold(ctx context.Context, st *step, f func(context.Context, *server) (wait, error)) (wait, error) {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(sv.host.intake, func() { cancel(ErrClosed) })()
	select {
	case sv.changing <- struct{}{}:
		defer func() { <-sv.changing }()
	case <-own.Done():
		if !sv.host.isClosing() {
			return nil, fmt.Errorf("server %q: waiting for another change of it: %w", sv.name, ctx.Err())
		}
	}
	if sv.host.isClosing() {
		return nil, ErrClosed
	}
	sv.mu.Lock()
	s := sv.server
	sv.change = &change{cancel: cancel, step: st}
	if st == nil && sv.wanted.waits() {
		cancel(ErrOvertaken)
	}
	sv.mu.Unlock()
	defer func() {
		sv.mu.Lock()
		defer sv.mu.Unlock()
		sv.change = nil
	}()
	return f(own, s)
}

// interrupt cancels what the present change of the server waits for, if there is one and it is no step. A step
// cancels any, unless that brings about the entry that the step wants, or another step decides.
func (sv *supervisor) interrupt(by *step) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	switch {
	case sv.change == nil:
	case by == nil && sv.change.step != nil:
	case by != nil && (by != sv.wanted || by.entry != nil && hashOf(by.entry) == sv.change.hash):
	default:
		sv.change.cancel(ErrOvertaken)
	}
}

// claim has a step decide about the server. Nothing is to be done if the server has its entry, and no
// step is about to change that.
func (sv *supervisor) claim(st *step) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if st.entry != nil && !sv.wanted.waits() && sv.hasLocked(st.entry, hashOf(st.entry)) {
		st.did = lifecycle.None
		close(st.begun)
		close(st.ended)
	}
	sv.wanted = st
}

// hasLocked reports whether the server has an entry with a hash already, and notes what that says in its place.
func (sv *supervisor) hasLocked(entry *config.Server, hash string) bool {
	if sv.server == nil || sv.server.hash != hash {
		return false
	}
	sv.server.said, sv.unapplied = entry, nil
	return true
}

// deciding returns the step that decides, which may have ended.
func (sv *supervisor) deciding() *step {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.wanted
}

// apply makes the supervisor run an entry, or nothing if it is nil. It returns what was done, and what is
// to be waited for then. The caller holds the supervisor.
func (sv *supervisor) apply(ctx context.Context, entry *config.Server) (lifecycle.Action, wait, error) {
	old, next := sv.now(), sv.newServer(entry)
	if next != nil {
		sv.mu.Lock()
		sv.change.hash = next.hash
		same := sv.hasLocked(entry, next.hash)
		sv.mu.Unlock()
		if same {
			return lifecycle.None, nil, nil
		}
	}
	did, until, err := sv.handle(ctx, sv.eventOf(old, next), next)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrOvertaken): // what has overtaken it says how the server stands
	case did == lifecycle.Keep, did == lifecycle.Discard:
		sv.setUnapplied(entry, err)
	default:
		sv.setUnapplied(nil, nil)
	}
	return did, until, err
}

// eventOf returns the event that next is configured in the place of old; both may be nil. It prepares next.
func (sv *supervisor) eventOf(old, next *server) lifecycle.Event {
	switch {
	case next == nil:
		sv.host.opts.Logins.Forget(sv.name)
		return lifecycle.Remove
	case next.err != nil:
		return lifecycle.Invalidate
	case next.entry.Disabled:
		return lifecycle.Disable
	}
	next.prepare()
	denied := denial(next.err)
	switch {
	case old == nil || old.unusable() != nil:
	case denied != nil && denied.Err != nil:
		return lifecycle.Invalidate
	case denied != nil:
		return lifecycle.Refuse
	case next.quarantined() && !old.quarantined():
		return lifecycle.Quarantine
	}
	return lifecycle.Start
}

// handle does what the table says about an event. Next is the server that is to be there then; nil: none.
// It returns what was done, and what waits for the first attempt of a server that starts.
func (sv *supervisor) handle(ctx context.Context, on lifecycle.Event, next *server) (lifecycle.Action, wait, error) {
	sv.mu.Lock()
	old, row := sv.server, lifecycle.Next(sv.state, on)
	if row.Do == lifecycle.Launch || row.Do == lifecycle.Replace {
		next.copyToolsLocked(old)
	}
	if row.To == lifecycle.Replacing {
		sv.state, sv.next = row.To, next
	}
	sv.mu.Unlock()
	switch row.Do {
	case "":
		return row.Do, nil, fmt.Errorf("host: server %q: %s: %s", sv.name, on, row.Impossible)
	case lifecycle.Keep:
		return row.Do, nil, next.outcome()
	case lifecycle.Replace:
		return sv.replace(ctx, old, next)
	case lifecycle.Launch:
		next.loseTools()
	}
	sv.host.inBackground(sv.place(on, next))
	if row.Do == lifecycle.Note || row.Do == lifecycle.Stop {
		return row.Do, nil, next.outcome()
	}
	next.run()
	if err := next.outcome(); denial(err) != nil {
		return row.Do, nil, err
	}
	return row.Do, next.untilStarted(), nil
}

// replace starts next beside old, which serves until next is ready and then finishes
// its calls in the background. If next fails and old works, or is the same, old stays; if both
// fail, next takes its place, and the tools stay listed as those of a lost server do. So they do if
// next wants a login, which is not possible as long as old stands there.
func (sv *supervisor) replace(ctx context.Context, old, next *server) (lifecycle.Action, wait, error) {
	next.run()
	err := next.firstAttempt(ctx)
	same := old.hash == next.hash
	if err == nil && same && next.entry.Lazy { // what is known of it from an earlier time is no answer
		err = next.relist(ctx)
	}
	switch {
	case err == nil:
	case same || old.serves() && next.status().Stage != StageLogin || sv.host.isClosing():
		sv.host.opts.Logins.Use(old.entry)
		sv.host.inBackground(sv.place(lifecycle.Fail, next))
		return lifecycle.Discard, nil, err
	default:
		next.loseTools()
	}
	sv.host.inBackground(sv.place(lifecycle.Succeed, next))
	next.save()
	return lifecycle.Promote, nil, err
}

// place puts next, which may be nil, in the place of the server, or discards it if that is what is to be done.
// The registry loses the tools of a server that stops, and replaces them by those of a successor. It returns
// what waits for the calls of the server that goes.
func (sv *supervisor) place(on lifecycle.Event, next *server) (calls wait) {
	sv.publishing.Lock() // which waits for what is being written
	sv.mu.Lock()
	row, old := lifecycle.Next(sv.state, on), sv.server
	sv.mu.Unlock()
	switch row.Do {
	case lifecycle.Note, lifecycle.Stop, lifecycle.Restart:
		old.withdraw() // before the status says that it does not run
	case lifecycle.Promote:
		next.publish()
	}
	sv.mu.Lock()
	gone := next
	if row.Do != lifecycle.Discard {
		gone, sv.server = old, next
	}
	sv.state, sv.next = row.To, nil
	if sv.state == lifecycle.Running && sv.server.err != nil {
		sv.state = lifecycle.Next(sv.state, lifecycle.Refuse).To
	}
	sv.mu.Unlock()
	sv.publishing.Unlock()
	sv.host.changed.Ring()
	sv.host.following.Wake()
	return gone.stop()
}

// record records what became of a server since a step began; the entry may be nil.
func (h *shared) record(ctx context.Context, did lifecycle.Action, entry *config.Server, began time.Time, err error) {
	kind := map[lifecycle.Action]string{
		lifecycle.Launch: "start", lifecycle.Stop: "stop", lifecycle.Restart: "replace", lifecycle.Promote: "replace",
		lifecycle.Keep: "replace", lifecycle.Discard: "replace", lifecycle.Note: "replace",
	}[did]
	if kind != "" && entry != nil && (did != lifecycle.Note || err != nil) {
		h.events.Record(ctx, events.OfServer(kind, entry, began, err))
	}
}

// setUnapplied keeps the entry that the server was to run as and does not, and has it tried again. Without
// an error the server runs, or not, as it is configured.
func (sv *supervisor) setUnapplied(entry *config.Server, err error) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	defer sv.host.changed.Ring()
	last := sv.unapplied
	if sv.unapplied = nil; err == nil {
		return
	}
	u := &Unapplied{Err: err, Failures: 1, Entry: entry}
	if last != nil && hashOf(last.Entry) == hashOf(entry) {
		u.Failures = last.Failures + 1
	}
	if entry.Err == nil && !sv.host.isClosing() {
		wait := backoff.Full(u.Failures-1, unappliedBase/2, unappliedBase, unappliedCeiling)
		u.RetryAt = time.Now().Add(wait)
		time.AfterFunc(wait, func() { sv.tryAgain(u) })
	}
	sv.unapplied = u
}

// configured returns the entry that a server of the supervisor is to have.
func (sv *supervisor) configured(s *server) *config.Server {
	if u := sv.lacks(); u != nil {
		return u.Entry
	}
	return s.entry
}

// tryAgain replaces the server by what is configured, unless another change was made
// meanwhile. It is called by a timer, which nobody stops.
func (sv *supervisor) tryAgain(u *Unapplied) {
	h := sv.host
	leave, err := h.visit()
	if err != nil {
		return
	}
	defer leave()
	began := time.Now()
	_, _ = sv.hold(h.intake, nil, func(ctx context.Context, _ *server) (wait, error) {
		if ctx.Err() == nil && sv.lacks() == u {
			did, _, err := sv.apply(ctx, u.Entry)
			sv.host.record(context.Background(), did, u.Entry, began, err)
		}
		return nil, nil
	})
}
