package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
)

// freshLogin is how long a login that is shown to somebody must still last.
const freshLogin = time.Minute

// A Login is a login that was begun.
type Login struct {
	// URL is where the user has to go; empty if he need not.
	URL string
	// UserCode is what he has to type there, for a login by device code.
	UserCode string
	// Expires is when it is too late.
	Expires time.Time

	entry  *entry
	name   string // of the pending's record; empty if nobody has to log in
	before int    // logins of the session so far
	shown  *shown
}

// Login begins a login, or joins the one that waits for the user, and returns
// what the user has to know. A login that was declined or left alone before is
// begun again. With a Prompt it is shown to the user at this machine, and Wait
// waits for him. ctx bounds the beginning of the login only.
//
// At a server that needs no human the session is logged in when Login returns.
func (m *Manager) Login(ctx context.Context, key Key) (*Login, error) {
	e := m.entry(key)
	j, err := e.meetBy(ctx, need{asked: true})
	var required *auth.LoginRequiredError
	switch {
	case err == nil:
		return &Login{entry: e}, nil
	case !errors.As(err, &required) || j.login == nil:
		return nil, err
	}
	return &Login{
		URL: required.URL, UserCode: required.UserCode, Expires: required.Expires,
		entry: e, name: j.login.Name, before: j.logins, shown: j.shown,
	}, nil
}

// Wait returns when the user has logged in, here or in another process. It
// returns an error when he has not in time or does not want to, and when ctx ends.
func (l *Login) Wait(ctx context.Context) error {
	if l.name == "" {
		return nil
	}
	e, stop := l.entry.manager.watch(l.entry.key)
	defer stop()
	late := time.NewTimer(time.Until(l.Expires))
	defer late.Stop()
	var ended <-chan struct{}
	if l.shown != nil {
		ended = l.shown.done
	}
	var failed error
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		r, _, err := e.load(ctx)
		switch {
		case err != nil:
			return err
		case r.Logins > l.before:
			return nil
		case failed != nil && !errors.Is(failed, context.Canceled):
			return failed
		case ended == nil && r.Login == nil:
			return l.over(r.Silent)
		case ended == nil && r.Login.Name != l.name:
			return l.over("another login was begun")
		}
		select {
		case <-changed:
		case <-ended:
			ended, failed = nil, l.shown.err
		case <-late.C:
			return l.over("nobody has answered the login")
		case <-ctx.Done():
			return ctx.Err()
		case <-e.manager.closing.Done():
			return ErrClosed
		}
	}
}

func (l *Login) over(reason string) error {
	return &auth.LoginRequiredError{Server: l.entry.key.Server, User: l.entry.key.User, Reason: reason}
}

// beginLogin begins a login, unless one waits for the user already, and returns
// the error that tells of it.
func (t *task) beginLogin(ctx context.Context, reason string) error {
	n := t.need
	if !t.config.Grant.Interactive() && (n.asked || t.record.Silent == "") {
		return t.obtain(ctx, nil)
	}
	if l := t.record.Login; l != nil && t.stillGood(ctx, l) {
		if n.asked && t.record.StepUps != nil {
			if err := t.put(ctx, func(r *record) { r.StepUps = nil }); err != nil {
				return err
			}
		}
		t.mu.Lock()
		t.job.shown = t.shown
		t.mu.Unlock()
		return t.loginRequired(reason)
	}
	if t.record.Silent != "" && !n.asked {
		return t.loginRequired(t.record.Silent)
	}
	if !n.asked {
		if wait := t.resting(); wait != nil {
			return wait
		}
	}
	if n.challenges == nil && t.record.Challenges == nil {
		challenges, err := t.flow.Probe(ctx)
		if err != nil {
			return t.pause(err)
		}
		t.need.challenges = challenges
	}
	client := t.record.Client
	p, prompting, err := t.begin(ctx)
	if err != nil {
		if t.record.Client != client {
			_ = t.put(ctx, func(*record) {}) // the registration is good for the next attempt
		}
		return t.pause(err)
	}
	begun := &pending{Version: recordFormat, User: t.key.User, Server: t.key.Server, URL: t.config.URL, Login: p}
	if err := t.announce(ctx, begun, prompting != nil || p.Device != nil); err != nil {
		if prompting != nil {
			_ = prompting.Close()
		}
		return err
	}
	t.mu.Lock()
	t.forgiveLocked()
	t.mu.Unlock()
	t.job.shown = t.showLogin(ctx, begun, prompting)
	return t.loginRequired(reason)
}

// begin makes a new login, and what will show it if there is a Prompt.
func (t *task) begin(ctx context.Context) (*auth.Pending, auth.Prompting, error) {
	a, err := t.flow.Discover(ctx, t.discoverOptions())
	if err != nil {
		return nil, nil, err
	}
	var before []string
	if g := t.record.Grant; g != nil && t.record.URL == t.config.URL && g.Authority.Issuer == a.Issuer {
		before = append(slices.Clone(g.Requested), g.Scopes...)
	}
	if l := t.record.Login; l != nil && len(t.need.stepUp) > 0 {
		before = append(before, l.Scopes...) // one login for all that is asked for
	}
	before = append(before, t.need.stepUp...)
	challenges := t.need.challenges
	if challenges == nil {
		challenges = t.record.Challenges
	}
	scopes, err := t.flow.ChooseScopes(a, challenges, before)
	if err != nil {
		return nil, nil, err
	}
	known := t.record.Client
	if known != nil && (known.Issuer != a.Issuer || t.need.asked && t.record.Unanswered) {
		known = nil
	}
	redirect := t.manager.opts.RedirectURL
	var prompting auth.Prompting
	if prompt := t.manager.opts.Prompt; prompt != nil {
		var registered []string
		if known != nil {
			registered = known.RedirectURIs
		} else if c := t.config.Client; c != nil {
			registered = c.RedirectURIs
		}
		if prompting, err = prompt.Start(ctx, registered); err != nil {
			return nil, nil, err
		}
		redirect = prompting.RedirectURI()
	}
	p, err := t.beginAt(ctx, a, known, redirect, scopes)
	if err != nil && prompting != nil {
		_ = prompting.Close()
		prompting = nil
	}
	t.record = t.record.with(func(r *record) { r.HadMetadata = r.HadMetadata || a.HasMetadata })
	return p, prompting, err
}

func (t *task) beginAt(ctx context.Context, a *auth.Authority, known *auth.Client, redirect string, scopes []string) (*auth.Pending, error) {
	device := t.config.Grant == auth.DeviceCode
	if device {
		redirect = ""
	} else if redirect == "" {
		return nil, &auth.ConfigError{Server: t.key.Server, Field: "Options", Problem: "of the manager have neither a Prompt nor a RedirectURL to log in with"}
	}
	var c *auth.Client
	var err error
	if device || t.manager.opts.Prompt == nil {
		c, err = t.register(ctx, a, redirect)
	} else { // the address may be another one each time: the client stays that of the session
		c, err = t.flow.Register(ctx, a, redirect, known)
	}
	if err != nil {
		return nil, err
	}
	if c.Source == auth.Dynamic {
		t.record = t.record.with(func(r *record) { r.Client = c })
	}
	if device {
		p, err := t.flow.BeginDevice(ctx, a, c, scopes)
		if unknownClient(c, err) {
			t.record = t.record.with(func(r *record) { r.Client = nil })
			t.manager.forgetClient(ctx, t.config, c)
		}
		return p, err
	}
	return t.flow.Begin(a, c, redirect, scopes)
}

// announce saves a login for whoever completes it, and in the session.
func (t *task) announce(ctx context.Context, begun *pending, prompt bool) error {
	err := t.manager.putPending(ctx, begun)
	if err != nil {
		return &StoreError{Key: t.key, Op: "save", Err: err}
	}
	old, p := t.record.Login, begun.Login
	l := &login{Name: loginName(p), URL: p.URL, Expires: p.Expires, Scopes: p.Scopes, Prompt: prompt}
	if p.Device != nil {
		l.UserCode = p.Device.UserCode
	}
	err = t.put(ctx, func(r *record) {
		r.Login, r.Silent, r.Unanswered = l, "", true
		if t.need.challenges != nil {
			r.Challenges = t.need.challenges
		}
		switch {
		case t.need.asked:
			r.StepUps = nil
		case len(t.need.stepUp) > 0:
			r.StepUps = counted(r.StepUps, t.need.operation)
		default:
			r.StepUps = counted(nil, t.need.operation)
		}
	})
	if err != nil {
		t.manager.drop(ctx, l.Name)
		return err
	}
	if old != nil {
		t.manager.drop(ctx, old.Name)
	}
	t.manager.opts.Logger.Info("session: login begun", "user", t.key.User, "server", t.key.Server)
	return nil
}

// drop removes a login that nobody is to complete any more; name may be empty. One
// that stays in the store is worth nothing after some minutes.
func (m *Manager) drop(ctx context.Context, name string) {
	if name == "" {
		return
	}
	if _, at, err := m.store.Load(ctx, name); err == nil {
		_ = m.store.Delete(ctx, name, at)
	}
}

// loginRequired tells of the login that waits for the user.
func (t *task) loginRequired(reason string) error {
	err := t.entry.loginRequired(t.record)
	err.Reason = reason
	if t.record.live(t.config.URL) != nil {
		err.Scopes = t.need.stepUp
	}
	t.job.login, t.job.logins = t.record.Login, t.record.Logins
	return err
}

// loginRequired returns the error that reports that the session in state r needs a login.
func (e *entry) loginRequired(r *record) *auth.LoginRequiredError {
	err := &auth.LoginRequiredError{Server: e.key.Server, User: e.key.User, Reason: cmp.Or(r.Silent, r.Ended), Done: e.nextChange()}
	if l := r.Login; l != nil {
		err.URL, err.UserCode, err.Expires = l.URL, l.UserCode, l.Expires
	}
	return err
}
