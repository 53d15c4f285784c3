package session

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
)

const (
	// shortLifetime is the lifetime of tokens that are renewed by use only.
	shortLifetime = 20 * time.Second
	// lookBase and lookCeiling bound how often a session is looked at that
	// another process may change while a caller here waits for that.
	lookBase    = 2 * time.Second
	lookCeiling = 30 * time.Second
	// maxLooks is how often that is done in about a quarter of an hour, which is
	// longer than a login lasts.
	maxLooks = 40
	// lookPause is the least time between two rounds.
	lookPause = time.Second
	// maxRenewals bounds the renewals ahead of time that run at once for one
	// server. Those for others do not wait for a server that is slow.
	maxRenewals = 8
)

// A keeper knows when which session has to be looked at.
type keeper struct {
	wake chan struct{} // capacity 1: something has to be looked at earlier than planned

	mu    sync.Mutex               // guards the following
	next  time.Time                // when it wakes by itself; zero for never
	turns map[string]chan struct{} // by server: hold a token for each renewal under way
}

// planLocked sets when the keeper has to look at the session.
func (e *entry) planLocked() {
	due := time.Time{}
	now := time.Now()
	if e.known != nil && e.known.Grant != nil && e.known.Ended == "" {
		due = e.renewalTime(&e.known.Grant.Token)
		if !due.IsZero() && due.Before(e.retryAt) {
			due = e.retryAt
		}
	}
	wait := min(lookCeiling, lookBase+time.Duration(e.looks)*time.Second)
	if e.watched > 0 || e.awaited || e.unsaved != nil {
		if look := now.Add(wait); due.IsZero() || look.Before(due) {
			due = look
		}
	}
	if soonest := e.looked.Add(wait); e.looks > 0 && !due.IsZero() && due.Before(soonest) {
		due = soonest // it was due before, and looking has changed nothing
	}
	e.due = due
	if !due.IsZero() {
		e.manager.keeper.plan(due)
	}
}

// renewalTime returns when a token is renewed ahead of its end: at about three
// quarters of its lifetime, spread so that processes and users do not come all at
// once. It is zero for tokens that cannot be renewed, or not by the clock.
func (e *entry) renewalTime(t *auth.Token) time.Time {
	lifetime := t.Expires.Sub(t.Obtained)
	if t.Expires.IsZero() || t.Refresh == "" || lifetime < shortLifetime {
		return time.Time{}
	}
	return t.Obtained.Add(time.Duration((0.7 + 0.1*e.spread) * float64(lifetime)))
}

// plan has the keeper wake at a time, if it would sleep longer.
func (k *keeper) plan(due time.Time) {
	k.mu.Lock()
	earlier := k.next.IsZero() || due.Before(k.next)
	if earlier {
		k.next = due
	}
	k.mu.Unlock()
	if earlier {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// turn returns what holds the tokens of a server.
func (k *keeper) turn(server string) chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turns[server] == nil {
		k.turns[server] = make(chan struct{}, maxRenewals)
	}
	return k.turns[server]
}

// keep renews tokens ahead of their end, and looks for what other processes have
// changed, until Close.
func (m *Manager) keep() {
	timer := time.NewTimer(0)
	timer.Stop()
	defer timer.Stop()
	for {
		m.keeper.mu.Lock()
		next := m.keeper.next
		m.keeper.mu.Unlock()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-m.closing.Done():
			return
		case <-m.keeper.wake:
			continue
		case <-timer.C:
		}
		m.lookAround()
	}
}

// lookAround finds what is due.
func (m *Manager) lookAround() {
	m.keeper.mu.Lock()
	m.keeper.next = time.Time{}
	m.keeper.mu.Unlock()
	now := time.Now()
	for _, e := range m.cached() {
		e.mu.Lock()
		due := e.due
		mine := !due.IsZero() && !due.After(now) && e.job == nil && !e.queued
		if mine {
			e.due, e.looked, e.queued = time.Time{}, now, true
			e.looks++
		}
		e.mu.Unlock()
		switch {
		case mine:
			if !m.run(e.look) {
				return
			}
		case !due.IsZero():
			if soonest := now.Add(lookPause); due.Before(soonest) {
				due = soonest
			}
			m.keeper.plan(due)
		}
	}
}

// look reads the session again, and renews its token if it is time for that. What
// could not be saved yet is saved.
func (e *entry) look() {
	turn := e.manager.keeper.turn(e.key.Server)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-e.manager.closing.Done():
		return
	}
	ctx, stop := context.WithTimeout(e.manager.closing, workTime)
	defer stop()
	e.mu.Lock()
	due := e.unsaved != nil
	e.mu.Unlock()
	if r, _, err := e.load(ctx); err == nil {
		want := request{quiet: true}
		if r.Grant != nil && r.Ended == "" {
			want.sent = r.Grant.Token.Access
			at := e.renewalTime(&r.Grant.Token)
			due = due || !at.IsZero() && !at.After(time.Now())
		}
		if due {
			_ = e.ensure(ctx, want) // it has told the log
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queued = false
	e.planLocked()
}
