package session

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/storage"
)

// A Phase says how far a session is.
type Phase int

const (
	// LoggedOut: there is no login, nor does one wait for the user.
	LoggedOut Phase = iota
	// LoginPending: the user has to go to Status.LoginURL.
	LoginPending
	// LoggedIn: requests are let out with a token, or with secret headers.
	LoggedIn
)

func (p Phase) String() string {
	return cmp.Or(map[Phase]string{LoggedOut: "logged out", LoginPending: "login pending", LoggedIn: "logged in"}[p], "unknown")
}

// MarshalText returns the name of the phase with underscores, such as "logged_in".
func (p Phase) MarshalText() ([]byte, error) {
	return []byte(strings.ReplaceAll(p.String(), " ", "_")), nil
}

// A Status is where a session stood at one moment. It holds no secrets, and can be sent to
// a page as JSON.
type Status struct {
	// Key is whose session it is.
	Key Key `json:"key"`
	// Phase is how far it is.
	Phase Phase `json:"phase"`
	// Issuer is the authorization server; empty without a login, and with
	// secret headers.
	Issuer string `json:"issuer,omitempty"`
	// Scopes are what the user has granted.
	Scopes []string `json:"scopes,omitempty"`
	// Expires is when the access token ends; zero if that is not known. That
	// is not the end of the session if Renewable is set.
	Expires time.Time `json:"expires,omitzero"`
	// Renewable says that the token is renewed without the user.
	Renewable bool `json:"renewable"`
	// Headers are the names of the secret headers.
	Headers []string `json:"headers,omitempty"`
	// LoginURL is where the user can log in, until LoginExpires. It may be set
	// while the user is logged in: then more rights were asked for.
	LoginURL string `json:"loginUrl,omitempty"`
	// UserCode is what the user has to type there, for a login by device code.
	UserCode string `json:"userCode,omitempty"`
	// LoginExpires is when LoginURL is no longer good.
	LoginExpires time.Time `json:"loginExpires,omitzero"`
	// Reason says why the session has ended, or why the user is not asked to
	// log in.
	Reason string `json:"reason,omitempty"`
	// Err is why this manager could not renew the token, or begin a login, when
	// it last tried; nil since it could. It tries again by itself as long as
	// there is something to renew. Watch does not tell of it.
	Err error `json:"-"`
}

// Status returns where a session stands, read from the store. A key that was
// never used is LoggedOut.
func (m *Manager) Status(ctx context.Context, key Key) (Status, error) {
	e := m.entry(key)
	r, _, err := e.load(ctx)
	if err != nil {
		return Status{Key: key}, err
	}
	s := m.status(key, r)
	s.Err = e.lastFailure()
	return s, nil
}

func (m *Manager) status(key Key, r *record) Status {
	s := Status{Key: key, Reason: cmp.Or(r.why(), r.DeclinedReason)}
	config, err := m.config(key)
	if err != nil {
		return s
	}
	if l := r.at(config.URL).Login; l != nil && time.Now().Before(l.Expires) {
		s.Phase, s.LoginURL, s.UserCode, s.LoginExpires = LoginPending, l.URL, l.UserCode, l.Expires
	}
	if g := r.live(config.URL); g != nil {
		s.Issuer, s.Scopes, s.Expires = g.Authority.Issuer, g.Scopes, g.Token.Expires
		s.Renewable = g.Token.Refresh != "" || !config.Grant.Interactive()
		if s.Renewable || s.Expires.IsZero() || time.Now().Before(s.Expires) {
			s.Phase = LoggedIn
		} else if s.Reason == "" {
			s.Reason = "the token has ended, and there is nothing to renew it with"
		}
	}
	if len(r.Header) > 0 && r.URL == config.URL {
		s.Phase, s.Headers = LoggedIn, slices.Sorted(maps.Keys(r.Header))
	}
	return s
}

// nextByClock returns when the status changes by the clock alone; zero
// for never.
func (s *Status) nextByClock() time.Time {
	next := s.LoginExpires
	if s.Phase == LoggedIn && !s.Renewable && !s.Expires.IsZero() && (next.IsZero() || s.Expires.Before(next)) {
		next = s.Expires
	}
	return next
}

// Watch yields the present status and then each later one, until ctx ends or the
// manager is closed. Changes of other processes are seen within some seconds. A
// consumer that is slower than the changes sees the newest. If the store cannot
// be read, the status has the error in Reason, once until it can.
func (m *Manager) Watch(ctx context.Context, key Key) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		e, stop := m.watch(key)
		defer stop()
		timer := time.NewTimer(lookCeiling)
		defer timer.Stop()
		failed := false
		for {
			e.mu.Lock()
			changed := e.changed
			e.mu.Unlock()
			status, err := m.Status(ctx, key)
			if err != nil {
				if ctx.Err() != nil {
					return
				}
				status.Reason = err.Error()
			}
			e.mu.Lock()
			again := changed != e.changed // reading has brought news
			e.mu.Unlock()
			if again && err == nil {
				continue
			}
			if told := err != nil && failed; !told && !yield(status) {
				return
			}
			failed = err != nil
			timer.Stop()
			if next := status.nextByClock(); failed {
				timer.Reset(lookBase)
			} else if !next.IsZero() {
				timer.Reset(time.Until(next))
			}
			select {
			case <-changed:
			case <-timer.C:
			case <-ctx.Done():
				return
			case <-m.closing.Done():
				return
			}
		}
	}
}

// Keys yields the keys of all sessions in the store, in no order. Sessions that
// cannot be read yield an error, and the others follow.
func (m *Manager) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return func(yield func(Key, error) bool) {
		for name, err := range m.store.Names(ctx, sessionPrefix) {
			if err != nil {
				yield(Key{}, &StoreError{op: "load", err: err})
				return
			}
			kept, err := m.store.Load(ctx, name, "")
			if errors.Is(err, storage.ErrNotFound) {
				continue // it was removed meanwhile
			}
			var key Key
			if err == nil {
				var r *record
				if r, err = decodeRecord(kept.Data, Key{}); err == nil {
					key = r.key()
				}
			}
			if err != nil {
				err = &StoreError{op: "load", err: err}
			}
			if !yield(key, err) || ctx.Err() != nil {
				return
			}
		}
	}
}
