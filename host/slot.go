package host

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A slot is the place of one configured server in a host. It stays when the server is
// replaced, and so do the registry's tools, which call whatever server stands in it.
type slot struct {
	host  *Host
	name  string
	meter *meter

	// changing holds a token while the server is started, stopped or replaced.
	changing chan struct{}

	mu     sync.Mutex // guards the following
	server *server    // nil before the first and after the last
	wanted uint64     // number of the Apply that has the say
	steps  int        // of those that are about to change the entry
}

func (h *Host) newSlot(name string) *slot {
	return &slot{host: h, name: name, meter: new(meter), changing: make(chan struct{}, 1)}
}

// enter waits for the right to start, stop or replace the server.
func (sl *slot) enter(ctx context.Context) (leave func(), err error) {
	select {
	case sl.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("server %q: waiting for another change of it: %w", sl.name, ctx.Err())
	case <-sl.host.intake.Done():
		return nil, ErrClosed
	}
	leave = func() { <-sl.changing }
	if sl.host.isClosing() {
		leave()
		return nil, ErrClosed
	}
	return leave, nil
}

// now returns the server that stands in the slot, or nil.
func (sl *slot) now() *server {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.server
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
}

// claim gives an Apply the say, and reports whether nothing is to be done: the server
// that it wants, known by its hash, stands there, and nobody is about to change that.
func (sl *slot) claim(generation uint64, entry *config.Server, hash string) (done bool) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.wanted = generation
	if entry != nil && sl.server != nil && sl.server.hash == hash && sl.steps == 0 {
		sl.server.move(entry.Source)
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

// holds reports whether an Apply has the say.
func (sl *slot) holds(generation uint64) bool {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.wanted == generation
}

// A change is what became of a server.
type change int

const (
	kept change = iota
	started
	stopped
	replaced
	failed    // what was there before, if anything, is there still
	noted     // it does not run, and did not
	overtaken // a later Apply has the say
)

// become makes the slot run an entry, or nothing if it is nil. The caller has entered.
func (sl *slot) become(ctx context.Context, entry *config.Server) (change, error) {
	old := sl.now()
	switch {
	case entry == nil && old == nil:
		return kept, nil
	case entry == nil:
		sl.set(nil)
		sl.host.forgetLogin(sl.name)
		old.retire(true)
		return stopped, nil
	case old != nil && old.hash == entry.Hash():
		old.move(entry.Source)
		return kept, nil
	}
	next := sl.newServer(entry)
	active := old != nil && old.active()
	switch {
	case entry.Err != nil && active:
		return failed, next.outcome()
	case !next.enabled:
		sl.set(next)
		if active {
			old.retire(true)
			return stopped, next.outcome()
		}
		if next.err != nil {
			return failed, next.outcome()
		}
		return noted, nil
	case !active:
		sl.set(next)
		next.start(true)
		if entry.Lazy {
			return started, nil
		}
		if err := next.firstAttempt(ctx); err != nil {
			return started, err
		}
		return started, nil
	case sl.host.unapproved(ctx, entry) != nil: // what was approved is not what is wanted now
		old.retire(true)
		sl.set(next)
		next.start(true)
		return stopped, next.outcome()
	}
	return sl.replace(ctx, old, next)
}

// replace starts next beside old, which serves until next is ready and then finishes
// its calls in the background. If next fails and old works, old stays; if both fail,
// next does, and the tools stay listed as those of a lost server do.
func (sl *slot) replace(ctx context.Context, old, next *server) (change, error) {
	next.shelf.inherit(old)
	next.start(false)
	err := next.firstAttempt(ctx)
	switch {
	case err != nil && (old.serves() || sl.host.isClosing()):
		sl.host.useLogin(old.entry)
		next.retire(false)
		return failed, err
	case err != nil:
		next.shelf.adopt(old)
	}
	sl.swap(old, next)
	return replaced, err
}

// swap puts next in the place of old.
func (sl *slot) swap(old, next *server) {
	old.shelf.close()
	next.shelf.publish()
	sl.set(next)
	old.retire(false)
}

// active reports whether the server runs, or would on the next call.
func (s *server) active() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enabled && !s.stopped && (s.err == nil || s.link != nil)
}

// Enable starts a server and returns when it is ready, or with the error of its
// first attempt; it then goes on trying. It does not wait for a lazy server.
func (h *Host) Enable(ctx context.Context, name string) error {
	return h.change(ctx, "enable", name, func(sl *slot, old *server) error {
		if old.active() {
			if old.entry.Lazy {
				return nil
			}
			return old.firstAttempt(ctx)
		}
		s := sl.newServer(old.entry)
		sl.set(s)
		s.start(true)
		if s.entry.Lazy {
			return nil
		}
		return s.firstAttempt(ctx)
	})
}

// Disable stops a server and removes its tools. Calls under way may finish
// until ctx ends.
func (h *Host) Disable(ctx context.Context, name string) error {
	return h.change(ctx, "disable", name, func(sl *slot, old *server) error {
		s := sl.newServer(old.entry)
		s.enabled, s.err = false, nil
		sl.set(s)
		return old.finish(ctx)
	})
}

// finish ends the server after its calls have finished, or when ctx ends.
func (s *server) finish(ctx context.Context) error {
	l := s.halt(true)
	errs := []error{s.host.pool.finish(ctx, s)}
	if l != nil {
		errs = append(errs, l.close(ctx))
	}
	return errors.Join(errs...)
}

// Restart ends the connection to a server and makes a new one at once, also if
// the server was waiting for its next attempt, and returns as Enable does. Calls under
// way are cut off; Refresh lets them finish. The clients of users are ended when
// their calls have finished, and made again when they are needed.
func (h *Host) Restart(ctx context.Context, name string) error {
	ctx, cancel := h.whileOpen(ctx)
	defer cancel()
	return h.change(ctx, "restart", name, func(sl *slot, s *server) error {
		l := s.running()
		switch {
		case !s.active():
			next := sl.newServer(s.entry)
			sl.set(next)
			next.start(true)
			return next.firstAttempt(ctx)
		case s.perUser():
			h.pool.retire(s)
			return nil
		case l == nil:
			return s.relist(ctx)
		}
		if err := l.client.Reconnect(ctx); err != nil {
			return err
		}
		_, err := s.list(ctx, l)
		return err
	})
}

// relist starts a server that rests, and reads its tools.
func (s *server) relist(ctx context.Context) error {
	l, err := s.open()
	if err != nil {
		return err
	}
	defer l.drop()
	_, err = s.list(ctx, l)
	return err
}

// Refresh reads anew what servers are and offer, those of the given names or, without
// any, all that are enabled, in parallel. A new connection is made beside the present
// one, which serves until the new one is ready and its tools are in the registry, and
// then finishes its calls in the background; so no tool is missing meanwhile. If that
// fails for a server the present connection stays, and the error says so. A server with
// a connection for each user is read by [Host.Discover] for the user of ctx, and left
// alone without one.
func (h *Host) Refresh(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		for _, s := range h.standing() {
			if s.active() {
				names = append(names, s.entry.Name)
			}
		}
	}
	ctx, cancel := h.whileOpen(ctx)
	defer cancel()
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			errs[i] = h.change(ctx, "refresh", name, func(sl *slot, s *server) error { return sl.refresh(ctx, s) })
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (sl *slot) refresh(ctx context.Context, s *server) error {
	switch l := s.running(); {
	case s.perUser():
		return sl.host.discoverFor(ctx, s)
	case !s.active():
		return fmt.Errorf("server %q: %w", s.entry.Name, errDisabled)
	case l == nil:
		return s.relist(ctx)
	}
	next := sl.newServer(s.entry)
	next.start(false)
	if err := next.firstAttempt(ctx); err != nil {
		next.retire(false)
		return err
	}
	sl.swap(s, next)
	return nil
}

// change has f change the named server, while nobody else does. What is the verb for it
// in the log.
func (h *Host) change(ctx context.Context, what, name string, f func(*slot, *server) error) error {
	sl, err := h.slot(name)
	if err != nil {
		return err
	}
	leave, err := sl.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s := sl.now()
	if s == nil {
		return &UnknownServerError{name, h.names()}
	}
	err = f(sl, s)
	h.recordFor(ctx, configEvent(what, name, err))
	if err != nil && h.isClosing() {
		return ErrClosed
	}
	return err
}

func (h *Host) isClosing() bool { return h.intake.Err() != nil }

// whileOpen returns a context that ends with ctx, and when the host is being closed.
func (h *Host) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.intake, cancel)
	return ctx, func() { stop(); cancel() }
}
