package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/internal/secret"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// An entry is what this process knows of one session.
type entry struct {
	manager *Manager
	key     Key
	name    string
	spread  float64 // 0 to 1: where in the time for it the token is renewed

	mu       sync.Mutex // guards the following; held for no time
	known    *record    // the newest known; nil if none was read yet
	at       storage.Revision
	read     time.Time     // when it was last read
	evicted  bool          // another entry takes this one's place
	turns    int           // counts the changes of known
	nonce    string        // the newest DPoP nonce of the server
	changed  chan struct{} // closed and replaced with every change of known
	job      *job          // the work under way
	active   *activePrompt // the login that is shown to the user
	watched  int           // callers that wait for changes, and say when they no longer do
	awaited  bool          // a caller was given changed since it was made
	unsaved  *answer       // no caller has got it yet
	proven   auth.Secret   // the access token that the server has last accepted
	doubted  auth.Secret   // the one that it refused last, before it had taken it
	refusals int           // such in a row
	retryAt  time.Time     // no renewal before
	fails    int           // attempts that failed in a row
	lastErr  error         // of the last of them
	queued   bool          // the keeper is about to look at it
	due      time.Time     // when the keeper looks at it; zero for never
	looked   time.Time     // when it last has
	looks    int           // how often it has since the last change
}

func newEntry(m *Manager, key Key) *entry {
	return &entry{manager: m, key: key, name: recordName(key), spread: rand.Float64(), changed: make(chan struct{})}
}

// evict reports whether nothing is lost if the entry is kept no longer. Then it
// is not used for anything new.
func (e *entry) evict() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	inUse := e.job != nil || e.queued || e.active != nil || e.watched > 0 || e.unsaved != nil
	if inUse || e.awaited && e.looks < maxLooks {
		return false
	}
	e.evicted, e.known = true, nil
	e.signalLocked()
	return true
}

func (e *entry) signalLocked() {
	close(e.changed)
	e.changed = make(chan struct{})
	e.awaited = false
}

// nextChange returns a channel that is closed when the session changes, by
// whichever process.
func (e *entry) nextChange() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.awaited = true
	e.planLocked()
	return e.changed
}

// watch has the session looked at for changes by other processes until stop is
// called. It returns nil if the entry is evicted.
func (e *entry) watch() (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.evicted {
		return nil
	}
	e.watched++
	e.planLocked()
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.watched--
	}
}

// current returns what is known of the session. It is read if nothing is, or if
// another process may have changed it some time ago; a caller that reads again what is
// known does not wait long for the store.
func (e *entry) current(ctx context.Context) (*record, error) {
	now := time.Now()
	e.mu.Lock()
	known := e.known
	if known != nil {
		if now.Sub(e.read) < lookCeiling {
			e.mu.Unlock()
			return known, nil
		}
		e.read = now // one looks for all
	}
	e.mu.Unlock()
	if known == nil {
		r, _, err := e.load(ctx)
		return r, err
	}
	looking, stop := context.WithTimeout(ctx, lookPause)
	defer stop()
	if r, _, err := e.load(looking); err == nil {
		return r, nil
	}
	return known, ctx.Err()
}

// load reads the session from the store.
func (e *entry) load(ctx context.Context) (*record, storage.Revision, error) {
	e.mu.Lock()
	turns := e.turns
	e.mu.Unlock()
	r, at, err := e.manager.load(ctx, e.key, e.name)
	if err != nil {
		return nil, at, err
	}
	e.mu.Lock()
	e.read = time.Now()
	login := false
	if e.turns == turns { // else it was read or saved meanwhile
		login = e.adoptLocked(r, at)
	}
	e.mu.Unlock()
	e.tell(login)
	return r, at, nil
}

// load reads the session of a key. There is always one, though it may be empty.
func (m *Manager) load(ctx context.Context, key Key, name string) (*record, storage.Revision, error) {
	kept, err := m.store.Load(ctx, name, "")
	at := kept.Revision
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return newRecord(key), "", nil
	case errors.As(err, new(*seal.CorruptError)) && !errors.Is(err, seal.ErrFormat), errors.Is(err, storage.ErrDamaged):
		m.opts.Logger.Error("session: lost", "user", key.User, "server", key.Server, "error", err)
		r := newRecord(key)
		r.Ended = "what was kept of the session cannot be read"
		return r, at, nil // the next login replaces it
	case err != nil:
		return nil, at, &StoreError{key: key, op: "load", err: err}
	}
	r, err := decodeRecord(kept.Data, key)
	if err != nil {
		return nil, at, &StoreError{key: key, op: "load", err: err}
	}
	return r, at, nil
}

// save replaces the session and makes it known.
func (e *entry) save(ctx context.Context, r *record, old storage.Revision) (storage.Revision, error) {
	data, err := secret.Encode(r)
	if err != nil {
		return old, &StoreError{key: e.key, op: "save", err: err}
	}
	at, err := e.manager.store.Save(ctx, e.name, data, old)
	if err != nil {
		return old, &StoreError{key: e.key, op: "save", err: err}
	}
	e.mu.Lock()
	login := e.adoptLocked(r, at)
	e.mu.Unlock()
	e.tell(login)
	return at, nil
}

// tell tells the program of a login, if there is one.
func (e *entry) tell(login bool) {
	if login && e.manager.opts.OnLogin != nil {
		e.manager.opts.OnLogin(e.key)
	}
}

// adoptLocked takes over a state of the record. It reports whether there is a login that
// there was not before.
func (e *entry) adoptLocked(r *record, at storage.Revision) (login bool) {
	if e.known != nil && at == e.at {
		return false
	}
	login = e.known != nil && r.newerLogin(e.known)
	if r.Grant != nil && (e.known == nil || e.known.Grant == nil || e.known.Grant.Token.Access != r.Grant.Token.Access) {
		e.forgiveLocked() // there is a new token
	}
	e.known, e.at = r, at
	e.turns++
	e.looks = 0
	e.signalLocked()
	e.planLocked()
	return login
}

// refused notes that the server did not take a token, and reports how many new
// ones in a row it has not.
func (e *entry) refused(access auth.Secret) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch access {
	case e.proven:
		e.proven, e.refusals = "", 0
	case e.doubted:
	default:
		e.doubted = access
		e.refusals++
	}
	return e.refusals
}

// accepted notes that the server has taken a token.
func (e *entry) accepted(access auth.Secret) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.proven != access {
		e.proven, e.refusals = access, 0
	}
}

func (e *entry) setNonce(nonce string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nonce = nonce
}

func (e *entry) getNonce() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.nonce
}

// change loads the session, lets f make another one of it, and saves that; again
// if another process was faster. If f returns nil nothing is saved. The caller
// should hold the session's lock.
func (e *entry) change(ctx context.Context, f func(*record) *record) (*record, error) {
	for {
		r, at, err := e.load(ctx)
		if err != nil {
			return nil, err
		}
		next := f(r)
		if next == nil {
			return r, nil
		}
		_, err = e.save(ctx, next, at)
		if err == nil || !errors.Is(err, storage.ErrConflict) || ctx.Err() != nil {
			return next, err
		}
	}
}

// locked locks the session for this process.
func (e *entry) locked(ctx context.Context) (unlock func(), err error) {
	unlock, err = e.manager.store.Lock(ctx, e.name)
	if err != nil {
		return nil, &StoreError{key: e.key, op: "lock", err: err}
	}
	return unlock, nil
}

// An answer is a token set that the authorization server has given and that is not saved yet.
// No caller has got it.
type answer struct {
	grant *auth.TokenSet
	url   string // of the server
	hash  string // of the refresh token that it was given for; empty if for none
	login bool   // the user has logged in for it
	begun bool   // that login was begun some time before
}

// apply returns the record with the answer; nil if the session went on without it, because
// the answer is to another refresh token.
func (a *answer) apply(r *record) *record {
	if a.hash != "" && (r.Journal == nil || r.Journal.Refresh != a.hash) {
		return nil
	}
	return r.at(a.url).with(func(r *record) {
		r.Grant, r.URL, r.Ended, r.Journal = a.grant, a.url, "", nil
		r.HadMetadata = r.HadMetadata || a.grant.Authority.HasMetadata
		if a.login {
			r.Logins++
			r.Login, r.DeclinedReason, r.Failed, r.Unanswered, r.Header = nil, "", "", false, nil
		}
	})
}

// keep saves a new token set before any caller gets it. With again set it tries until ctx or
// the manager ends, and then keeps the answer in memory, to be saved before anything else
// is done. For a login that the user has called off the error is an *auth.StateError.
func (e *entry) keep(ctx context.Context, a *answer, again bool) error {
	for attempt := 0; ; attempt++ {
		calledOff := false
		_, err := e.change(ctx, func(r *record) *record {
			if calledOff = a.begun && r.Login == nil && r.DeclinedReason == loggedOut; calledOff {
				return nil
			}
			return a.apply(r)
		})
		switch {
		case calledOff:
			return &auth.StateError{Server: e.key.Server, Problem: "the user has logged out since it was begun"}
		case err == nil || !again:
			return err
		}
		timer := time.NewTimer(backoff.Full(attempt, saveBase/2, saveBase, renewCeiling))
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
		case <-e.manager.closing.Done():
		}
		timer.Stop()
		e.mu.Lock()
		e.unsaved = a
		e.planLocked()
		e.mu.Unlock()
		return err
	}
}

// saveUnsaved saves an answer that keep has left in memory, if there is one.
func (e *entry) saveUnsaved(ctx context.Context) error {
	e.mu.Lock()
	unsaved := e.unsaved
	e.mu.Unlock()
	if unsaved == nil {
		return nil
	}
	if err := e.keep(ctx, unsaved, false); err != nil && !errors.As(err, new(*auth.StateError)) {
		return err
	}
	e.takeUnsaved()
	return nil
}

// takeUnsaved returns such an answer, or nil, and forgets it.
func (e *entry) takeUnsaved() *answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	unsaved := e.unsaved
	e.unsaved = nil
	return unsaved
}
