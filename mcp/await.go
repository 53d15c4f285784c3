package mcp

import (
	"context"
	"errors"
	"fmt"
)

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
