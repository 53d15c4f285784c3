package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
)

const (
	retryBase    = 500 * time.Millisecond
	retryCeiling = 60 * time.Second
	// healthyAfter is how long a connection must last for the failures before
	// it to be forgotten.
	healthyAfter = 60 * time.Second
	// A call that needs the server brings the next attempt forward, but not
	// closer to the last one than this, doubled with each failure.
	wakeBase    = 250 * time.Millisecond
	wakeCeiling = 5 * time.Second
	// Where nothing listens an attempt costs next to nothing: it is wakeRefused after the
	// last, and twice that after each wakeDoubling attempts.
	wakeRefused  = 40 * time.Millisecond
	wakeDoubling = 64
	// announceEvery bounds how often announcements of changed lists are passed on.
	announceEvery = 250 * time.Millisecond
)

// errRenewed ends a connection because of Reconnect.
var errRenewed = errors.New("connection renewed on request")

// A step is what the client does about its connection. A Phase says it to the program.
type step uint8

const (
	stepIdle       step = iota // the client was not used yet
	stepConnecting             // an attempt to connect is under way
	stepReady                  // there is a connection
	stepChallenged             // there is a connection, and the server wants a login
	stepWaiting                // there is none before the time of the next attempt
	stepLoggingIn              // there is none before the user has logged in
	stepClosed
)

// An event ends a step, or goes on with another one.
type event uint8

const (
	onNothing  event = iota // there is nothing to do until notify
	onUse                   // the first use
	onOpened                // there is a new connection
	onLost                  // the first end of a sound connection, which is mended at once
	onRenewal               // Reconnect
	onFailed                // another end of a connection, or of an attempt to make one
	onRefused               // one that the user has to log in for
	onLogin                 // a request needs a login
	onLoggedIn              // the user has logged in, or the server lets requests in again
	onTime                  // the next attempt is due
	onClose                 // Close
)

// transitions has all steps that can follow each other. An event that is missing is not looked for
// in that step.
var transitions = map[step]map[event]step{
	stepIdle:       {onUse: stepConnecting, onClose: stepClosed},
	stepConnecting: {onOpened: stepReady, onFailed: stepWaiting, onRefused: stepLoggingIn, onClose: stepClosed},
	stepReady:      {onLogin: stepChallenged, onLost: stepConnecting, onFailed: stepWaiting, onRefused: stepLoggingIn, onRenewal: stepConnecting, onClose: stepClosed},
	stepChallenged: {onLogin: stepChallenged, onLoggedIn: stepReady, onLost: stepConnecting, onFailed: stepWaiting, onRefused: stepLoggingIn, onRenewal: stepConnecting, onClose: stepClosed},
	stepWaiting:    {onTime: stepConnecting, onRenewal: stepConnecting, onClose: stepClosed},
	stepLoggingIn:  {onLoggedIn: stepConnecting, onTime: stepConnecting, onRenewal: stepConnecting, onClose: stepClosed},
}

// A supervisor makes one connection after the other until Close. Its goroutine alone makes
// transitions after the first. It ends also when a connection needs nothing: notify has it go on.
type supervisor struct {
	shared

	// The following are guarded by mu, and written by the goroutine.
	step     step
	current  *connection // that requests are sent on; nil: there is none
	attempts int         // how many attempts to connect have ended

	// The following belong to the goroutine.
	era         era
	conn        *connection // that was opened last
	login       *login      // that it wants; nil: none
	err         error       // why the last connection or attempt ended
	failures    int         // to connect, in a row
	retryAt     time.Time   // when the next attempt begins
	announcedAt time.Time   // when changes of lists were announced last
}

func (s *supervisor) startLocked() {
	if s.step == stepIdle {
		s.enterLocked(onUse)
		s.superviseDone = true
		s.notifyLocked(0)
	}
}

// run makes the transitions.
func (s *supervisor) run() {
	for s.step != stepClosed {
		e := s.next()
		if e == onNothing {
			return
		}
		if to := transitions[s.step][e]; s.conn != nil && to != stepReady && to != stepChallenged {
			s.endConnection()
		}
		s.mu.Lock()
		s.enterLocked(e)
		s.mu.Unlock()
	}
}

// next returns what ends the step.
func (s *supervisor) next() event {
	switch s.step {
	case stepReady, stepChallenged:
		return s.watch()
	case stepWaiting, stepLoggingIn:
		return s.rest()
	}
	conn, err := s.connect(&s.era)
	s.mu.Lock()
	s.attempts++
	s.mu.Unlock()
	if err != nil {
		return s.failed(err)
	}
	s.conn = conn
	return onOpened
}

// enterLocked makes the transition for an event, and publishes the state.
func (s *supervisor) enterLocked(e event) {
	from := s.step
	s.step = transitions[from][e]
	now := s.state.counts()
	now.Err = visible(s.err)
	switch s.step {
	case stepConnecting:
		now.Phase = Connecting
		if from == stepWaiting || from == stepLoggingIn {
			now.Failures = s.failures
		}
	case stepReady, stepChallenged:
		s.showConnectionLocked(&now)
	case stepWaiting:
		s.retryAt = time.Now().Add(backoff.Full(s.failures-1, retryBase/2, retryBase, retryCeiling))
		now.Phase, now.Failures, now.RetryAt = Waiting, s.failures, s.retryAt
		s.signals &^= serverNeeded // by calls that saw an earlier attempt fail
	case stepLoggingIn:
		now.Phase, now.Failures, now.LoginURL = Authenticating, s.failures, loginFor(s.err).url
		s.signals &^= serverNeeded
	case stepClosed:
		now.Phase, now.Err, s.current = Closed, nil, nil
	}
	s.showLocked(now)
}

// showConnectionLocked puts the connection into a state, and has requests sent on it.
func (s *supervisor) showConnectionLocked(now *State) {
	conn := s.conn
	if s.current == nil {
		s.current = conn
		s.signals &^= renewalWanted // this connection is the renewal
		now.Connections++
		now.count(listTools | listResources | listPrompts)
		conn.number = now.Connections
		conn.greetWithLevel()
	}
	now.Phase, now.Err = Ready, nil
	if s.step == stepChallenged {
		now.Phase, now.Err, now.LoginURL = Authenticating, s.login.err, s.login.url
	}
	info := conn.wire.Info()
	now.Server, now.ProtocolVersion, now.Instructions, now.Capabilities = conn.info.server, conn.info.revision, conn.info.instructions, conn.info.capabilities
	now.PID, now.Degraded = info.PID, info.Degraded
}

// watch watches the connection until something is to be done about it.
func (s *supervisor) watch() event {
	conn := s.conn
	var due <-chan time.Time // when announcements may be passed on again
	for {
		told := s.takeSignals(renewalWanted | listsChanged | loginChanged)
		s.mu.Lock()
		unhealthy := conn.unhealthy
		s.mu.Unlock()
		needed := conn.login.Load()
		switch {
		case told&renewalWanted != 0:
			return s.lost(errRenewed)
		case unhealthy != nil:
			if isRevisionError(unhealthy) {
				conn.drain(supersededWait, s.closing.Done())
			}
			return s.lost(unhealthy)
		case needed != s.login:
			if s.login = needed; needed != nil {
				return onLogin
			}
			return onLoggedIn
		case told&listsChanged != 0 || due == nil:
			due = s.announceChanges()
		}
		var done <-chan struct{}
		if needed != nil {
			done = needed.done
		} else if due == nil && s.goIdle() {
			return onNothing
		}
		select {
		case <-s.closing.Done():
			return s.lost(ErrClosed)
		case <-conn.ended:
			return s.lost(cmp.Or(conn.readErr, errEnded))
		case <-done:
			conn.login.CompareAndSwap(needed, nil) // the user has logged in
		case <-due:
			due = nil
		case <-s.wake:
		}
	}
}

// goIdle reports whether a connection needs nothing. Then the supervisor's goroutine ends, and
// whatever happens next starts it again.
func (s *supervisor) goIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.superviseDone = !isClosed(s.conn.ended) && s.closing.Err() == nil && s.conn.unhealthy == nil && s.signals&^serverNeeded == 0
	return s.superviseDone
}

// announceChanges makes announcements known, as often as they may be. It returns when it is to be
// called again, nil if nothing is left.
func (s *supervisor) announceChanges() <-chan time.Time {
	if s.outdated.Load() == 0 {
		return nil
	}
	if wait := time.Until(s.announcedAt.Add(announceEvery)); wait > 0 {
		return time.After(wait)
	}
	s.announcedAt = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.state
	now.count(listKinds(s.outdated.Swap(0))) // what is announced from here on is counted next
	s.showLocked(now)
	return nil
}

// lost returns the event for the end of the connection.
func (s *supervisor) lost(err error) event {
	if isRevisionError(err) {
		s.era.forget()
	}
	renewed := errors.Is(err, errRenewed)
	if renewed || time.Since(s.conn.opened) >= healthyAfter {
		s.failures = 0
	}
	if s.failures > 0 || s.closing.Err() != nil {
		return s.failed(err)
	}
	s.err, s.failures = err, 1
	if renewed {
		return onRenewal
	}
	return onLost
}

// failed returns the event for an end that is not mended at once.
func (s *supervisor) failed(err error) event {
	s.err = err
	if s.closing.Err() != nil {
		return onClose
	}
	s.failures++
	s.opts.Logger.Info("mcp: no connection", "server", s.name, "failures", s.failures, "error", err)
	if loginFor(err) != nil {
		return onRefused
	}
	return onFailed
}

// endConnection takes the connection out of use and closes it.
func (s *supervisor) endConnection() {
	if s.closing.Err() == nil {
		s.mu.Lock()
		s.current = nil
		now := s.state.counts()
		now.Phase, now.Err = Connecting, visible(s.err)
		s.showLocked(now)
		s.mu.Unlock()
	}
	s.conn.sessionEnds(s.err)
	s.conn.close(s.err)
	s.conn, s.login = nil, nil
}

// wakeAfter is how soon after the last attempt the next may be.
func wakeAfter(err error, failures int) time.Duration {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && !dial.Timeout() {
		return min(wakeRefused<<min(failures/wakeDoubling, 10), wakeCeiling)
	}
	return min(wakeBase<<min(failures-1, 10), wakeCeiling)
}

// rest waits for the next attempt. A needed server is tried sooner. One
// that wants a login is not tried before the user has logged in; if they have done so already it
// did not help, and there is a wait as for a needed server.
func (s *supervisor) rest() event {
	soonest := time.Now().Add(wakeAfter(s.err, s.failures))
	at, sooner := s.retryAt, s.step == stepWaiting && soonest.Before(s.retryAt)
	var done <-chan struct{}
	if s.step == stepLoggingIn {
		at = soonest
		if n := loginFor(s.err); !n.over() {
			at, done = time.Now().Add(noTimeout), n.done
		}
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		switch told := s.takeSignals(serverNeeded | renewalWanted); {
		case told&renewalWanted != 0:
			return onRenewal
		case told != 0 && sooner:
			sooner = false
			timer.Reset(time.Until(soonest))
		}
		select {
		case <-timer.C:
			return onTime
		case <-done:
			return onLoggedIn
		case <-s.closing.Done():
			return onClose
		case <-s.wake:
		}
	}
}

// acquire returns the present connection, connecting if there is none, and waiting
// while a connection is being made. A connection equal to not is waited out. A connection that
// needs a login is good enough: whoever sends something finds out.
func (s *supervisor) acquire(ctx context.Context, not *connection) (*connection, error) {
	return s.await(ctx, not, -1, true)
}

// connection returns the present connection, or nil.
func (s *supervisor) connection() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// await is acquire for a caller that has asked for a new attempt when the given number
// of them had ended: only the failure of one that ended later is returned. Wakes brings the
// next attempt forward.
func (s *supervisor) await(ctx context.Context, not *connection, before int, wakes bool) (*connection, error) {
	switch {
	case s.transport == nil:
		return nil, WithOutcome(errZero, NotSent)
	case ctx == nil:
		return nil, WithOutcome(errors.New("mcp: the context is nil"), NotSent)
	}
	renewing, again := before >= 0, false
	for {
		s.mu.Lock()
		s.startLocked()
		state, current, attempts := s.state, s.current, s.attempts
		if current != nil && current != not {
			s.mu.Unlock()
			return current, nil
		}
		changed := s.changed.Rung()
		s.mu.Unlock()
		if before < 0 {
			before = attempts
		}
		switch state.Phase {
		case Closed:
			return nil, WithOutcome(fmt.Errorf("server %q: %w", s.name, ErrClosed), NotSent)
		case Authenticating:
			over := loginFor(state.Err).over()
			if attempts > before && over && !again { // the user has logged in meanwhile
				before, again = attempts, true
			}
			if current == nil && (attempts > before || !renewing && !over) {
				return nil, &UnavailableError{Server: s.name, Err: state.Err}
			}
		case Waiting:
			if attempts > before {
				return nil, &UnavailableError{Server: s.name, RetryAt: state.RetryAt, Err: state.Err}
			}
			if wakes {
				s.notify(serverNeeded)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, s.gaveUpWaiting(ctx, state)
		}
	}
}

// gaveUpWaiting is the error of a caller whose context ended before there was a
// connection. It tells what the client was waiting for.
func (s *supervisor) gaveUpWaiting(ctx context.Context, state State) error {
	err := fmt.Errorf("%w while %v", ctx.Err(), state.Phase)
	if state.Err != nil {
		err = fmt.Errorf("%w (before that: %w)", err, state.Err)
	}
	return &UnavailableError{Server: s.name, RetryAt: state.RetryAt, Err: err}
}
