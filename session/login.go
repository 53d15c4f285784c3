package session

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// freshLogin is how long a login that is shown to a user must still last.
const freshLogin = time.Minute

// A Login is a login that was begun.
type Login struct {
	// URL is where the user has to go; empty if they need not.
	URL string
	// UserCode is what the user has to type there, for a login by device code.
	UserCode string
	// Expires is when it is too late.
	Expires time.Time

	entry  *entry
	name   string // of the pending's record; empty if no user has to log in
	before int    // logins of the session so far
	prompt *activePrompt
}

// Login begins a login, or joins the one that waits for the user, and returns
// what the user has to know. A login that was declined or left alone before is
// begun again. With a Prompt it is shown to the user at this machine, and Wait
// waits for the user. ctx bounds the beginning of the login only.
//
// At a server that needs no human the session is logged in when Login returns.
func (m *Manager) Login(ctx context.Context, key Key) (*Login, error) {
	e := m.entry(key)
	j, err := e.ensureBy(ctx, request{asked: true})
	var required *auth.LoginRequiredError
	switch {
	case err == nil:
		return &Login{entry: e}, nil
	case !errors.As(err, &required) || j.login == nil:
		return nil, err
	}
	return &Login{
		URL: required.URL, UserCode: required.UserCode, Expires: required.Expires,
		entry: e, name: j.login.Name, before: j.logins, prompt: j.prompt,
	}, nil
}

// Wait returns when the user has logged in, here or in another process. It
// returns an error when the user has not in time or declines, and when ctx ends.
func (l *Login) Wait(ctx context.Context) error {
	if l.name == "" {
		return nil
	}
	e, stop := l.entry.manager.watch(l.entry.key)
	defer stop()
	late := time.NewTimer(time.Until(l.Expires))
	defer late.Stop()
	var ended <-chan struct{}
	if l.prompt != nil {
		ended = l.prompt.done
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
			return l.over(cmp.Or(r.DeclinedReason, r.Failed))
		case ended == nil && r.Login.Name != l.name:
			return l.over("another login was begun")
		}
		select {
		case <-changed:
		case <-ended:
			ended, failed = nil, l.prompt.err
		case <-late.C:
			return l.over(unanswered)
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
func (j *job) beginLogin(ctx context.Context, reason string) error {
	if !j.config.Grant.Interactive() && (j.request.asked || j.record.DeclinedReason == "") {
		return j.obtain(ctx, nil)
	}
	if l := j.record.Login; l != nil && j.canFinish(ctx, l) {
		if j.request.asked && j.record.StepUps > 0 {
			if err := j.put(ctx, func(r *record) { r.StepUps = 0 }); err != nil {
				return err
			}
		}
		j.mu.Lock()
		j.prompt = j.active
		j.mu.Unlock()
		return j.loginRequired(reason)
	}
	if j.record.DeclinedReason != "" && !j.request.asked {
		return j.loginRequired(j.record.DeclinedReason)
	}
	if !j.request.asked && j.resting() != nil {
		return j.lastFailure()
	}
	if j.request.challenges == nil && j.record.Challenges == nil {
		challenges, err := j.flow.Probe(ctx)
		if err != nil {
			return j.pause(err)
		}
		j.request.challenges = challenges
	}
	client := j.record.Client
	p, ps, err := j.begin(ctx)
	if err != nil {
		if j.record.Client != client {
			_ = j.put(ctx, func(*record) {}) // the registration is good for the next attempt
		}
		return j.pause(err)
	}
	begun := &pending{Version: recordFormat, User: j.key.User, Server: j.key.Server, URL: j.config.URL, Login: p}
	if err := j.announce(ctx, begun, ps != nil || p.Device != nil); err != nil {
		if ps != nil {
			_ = ps.Close()
		}
		return err
	}
	j.mu.Lock()
	j.forgiveLocked()
	j.mu.Unlock()
	j.prompt = j.showLogin(ctx, begun, ps)
	return j.loginRequired(reason)
}

// begin makes a new login, and what will show it if there is a Prompt.
func (j *job) begin(ctx context.Context) (*auth.Pending, auth.PromptSession, error) {
	a, err := j.flow.Discover(ctx, j.discoverOptions())
	if err != nil {
		return nil, nil, err
	}
	var before []string
	if g := j.record.Grant; g != nil && j.record.URL == j.config.URL && g.Authority.Issuer == a.Issuer {
		before = append(slices.Clone(g.Requested), g.Scopes...)
	}
	if l := j.record.Login; l != nil && len(j.request.stepUp) > 0 {
		before = append(before, l.Scopes...) // one login for all that is asked for
	}
	before = append(before, j.request.stepUp...)
	scopes := j.flow.ChooseScopes(a, j.discoverOptions().Challenges, before)
	known := j.record.Client
	if known != nil && (known.Issuer != a.Issuer || j.request.asked && j.record.Unanswered) {
		known = nil
	}
	redirect := j.redirectURL()
	var ps auth.PromptSession
	if prompt := j.manager.opts.Prompt; prompt != nil {
		var registered []string
		if j.config.RedirectURL != "" {
			registered = []string{j.config.RedirectURL}
		} else if known != nil {
			registered = known.RedirectURIs
		} else if c := j.config.Client; c != nil {
			registered = c.RedirectURIs
		}
		if ps, err = prompt.Start(ctx, registered); err != nil {
			return nil, nil, err
		}
		redirect = ps.RedirectURI()
	}
	p, err := j.beginAt(ctx, a, known, redirect, scopes)
	if err != nil && ps != nil {
		_ = ps.Close()
		ps = nil
	}
	j.record = j.record.with(func(r *record) { r.HadMetadata = r.HadMetadata || a.HasMetadata })
	return p, ps, err
}

// redirectURL returns where a browser comes back to without a Prompt. A client that comes back to
// this machine only does so, and the user gives the program the address at which they ended.
func (j *job) redirectURL() string {
	own, err := url.Parse(j.config.RedirectURL)
	program, programErr := url.Parse(j.manager.opts.RedirectURL)
	switch {
	case j.config.RedirectURL == "" || err != nil || programErr != nil || !guardhttp.Loopback(own.Hostname()):
		return j.manager.opts.RedirectURL
	case own.Port() == "" && guardhttp.Loopback(program.Hostname()): // it stands for any
		own.Host += ":" + program.Port()
	}
	return own.String()
}

func (j *job) beginAt(ctx context.Context, a *auth.Authority, known *auth.Client, redirect string, scopes []string) (*auth.Pending, error) {
	device := j.config.Grant == auth.DeviceCode
	if device {
		redirect = ""
	} else if redirect == "" {
		return nil, &auth.ConfigError{Server: j.key.Server, Field: "Options", Problem: "of the manager have neither a Prompt nor a RedirectURL to log in with"}
	}
	var c *auth.Client
	var err error
	if device || j.manager.opts.Prompt == nil {
		c, err = j.register(ctx, a, redirect, scopes)
	} else { // the address may be another one each time: the client stays that of the session
		c, err = j.flow.Register(ctx, a, redirect, scopes, known)
	}
	if err != nil {
		return nil, err
	}
	if c.Source == auth.Dynamic {
		j.record = j.record.with(func(r *record) { r.Client = c })
	}
	if device {
		p, err := j.flow.BeginDevice(ctx, a, c, scopes)
		if unknownClient(c, err) {
			j.record = j.record.with(func(r *record) { r.Client = nil })
			j.manager.forgetClient(ctx, j.config, c)
		}
		return p, err
	}
	return j.flow.Begin(a, c, redirect, scopes)
}

// announce saves a login for the process that completes it, and in the session.
func (j *job) announce(ctx context.Context, begun *pending, prompt bool) error {
	err := j.manager.putPending(ctx, begun)
	if err != nil {
		return &StoreError{key: j.key, op: "save", err: err}
	}
	old, p := j.record.Login, begun.Login
	l := &login{Name: loginName(p), URL: p.URL, Expires: p.Expires, Scopes: p.Scopes, Prompt: prompt}
	if p.Device != nil {
		l.UserCode = p.Device.UserCode
	}
	err = j.put(ctx, func(r *record) {
		r.Login, r.DeclinedReason, r.Unanswered = l, "", true
		if j.request.challenges != nil {
			r.Challenges = j.request.challenges
		}
		r.StepUps++
		if len(j.request.stepUp) == 0 {
			r.StepUps = 0
		}
	})
	if err != nil {
		j.manager.drop(ctx, l.Name)
		return err
	}
	if old != nil {
		j.manager.drop(ctx, old.Name)
	}
	j.manager.opts.Logger.Info("session: login begun", "user", j.key.User, "server", j.key.Server)
	return nil
}

// drop removes a login that is not to be completed any more; name may be empty. One
// that stays in the store is worth nothing after some minutes.
func (m *Manager) drop(ctx context.Context, name string) {
	if name == "" {
		return
	}
	if kept, err := m.store.Load(ctx, name, ""); err == nil {
		_ = m.store.Delete(ctx, name, kept.Revision)
	}
}

// loginRequired tells of the login that waits for the user.
func (j *job) loginRequired(reason string) error {
	err := j.entry.loginRequired(j.record)
	err.Reason = reason
	if j.record.live(j.config.URL) != nil {
		err.Scopes = j.request.stepUp
	}
	j.login, j.logins = j.record.Login, j.record.Logins
	return err
}

// loginRequired returns the error that reports that the session in state r needs a login.
func (e *entry) loginRequired(r *record) *auth.LoginRequiredError {
	err := &auth.LoginRequiredError{Server: e.key.Server, User: e.key.User, Reason: cmp.Or(r.DeclinedReason, r.why()), Done: e.nextChange()}
	if l := r.Login; l != nil {
		err.URL, err.UserCode, err.Expires = l.URL, l.UserCode, l.Expires
	}
	return err
}
