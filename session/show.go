package session

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
)

// An activePrompt is a login that is shown to the user at this machine.
type activePrompt struct {
	stop context.CancelFunc
	done chan struct{} // closed when it has ended
	err  error         // set before
}

// canFinish reports whether a login that was begun can still be finished.
func (j *job) canFinish(ctx context.Context, l *login) bool {
	if time.Until(l.Expires) < freshLogin {
		return false
	}
	j.mu.Lock()
	mine := j.active != nil
	j.mu.Unlock()
	switch {
	case mine:
		return true // one thing at a time
	case len(lacking(l.Scopes, j.request.stepUp)) > 0:
		return false
	case !l.Prompt:
		return true
	}
	// Another process shows it as long as it holds this lock.
	unlock := j.lockPrompt(ctx)
	if unlock != nil {
		unlock()
	}
	return unlock == nil
}

// promptPause is how long another process may take to give up the right to show logins.
const promptPause = 200 * time.Millisecond

// lockPrompt locks the right to show logins of the session, for as long as one is
// shown. It returns nil if another process has it.
func (e *entry) lockPrompt(ctx context.Context) (unlock func()) {
	ctx, stop := context.WithTimeout(ctx, promptPause)
	defer stop()
	unlock, err := e.manager.store.Lock(ctx, promptPrefix+hashOf(e.name))
	if err != nil {
		return nil
	}
	return unlock
}

// showLogin shows a login to the user, or waits for a device code to be approved,
// in a goroutine of the manager's. It returns nil for a login that another process shows.
func (j *job) showLogin(ctx context.Context, p *pending, ps auth.PromptSession) *activePrompt {
	if ps == nil && p.Login.Device == nil {
		return nil
	}
	e := j.entry
	unlock := e.lockPrompt(ctx) // before another process can look whether it is held
	ctx, stop := context.WithDeadline(WithUser(e.manager.closing, e.key.User), p.Login.Expires)
	s := &activePrompt{stop: stop, done: make(chan struct{})}
	e.mu.Lock()
	before := e.active
	e.active = s
	e.mu.Unlock()
	if before != nil {
		before.stop()
	}
	started := e.manager.run(func() {
		defer stop()
		s.err = e.show(ctx, j.flow, p, ps, unlock)
		if s.err != nil {
			e.manager.opts.Logger.Info("session: not logged in", "user", e.key.User, "server", e.key.Server, "error", s.err)
		}
		e.mu.Lock()
		if e.active == s {
			e.active = nil
		}
		e.mu.Unlock()
		close(s.done)
	})
	if !started {
		stop()
		if unlock != nil {
			unlock()
		}
		if ps != nil {
			_ = ps.Close()
		}
		s.err = ErrClosed
		close(s.done)
	}
	return s
}

// show shows a login and completes it. unlock is nil if another process still had the
// right to show logins.
func (e *entry) show(ctx context.Context, flow *auth.Flow, p *pending, ps auth.PromptSession, unlock func()) (err error) {
	defer e.manager.caught(e.key, &err)
	if unlock == nil {
		unlock = e.lockPrompt(ctx)
	}
	if unlock != nil {
		defer unlock()
	}
	callback := ""
	if ps != nil {
		callback, err = ps.Show(ctx, p.Login)
		defer func() { _ = ps.Close() }()
		if err != nil {
			return e.noteUnfinished(p, err)
		}
	}
	if p.Login.Device == nil {
		_, err := e.manager.Complete(ctx, callback, nil)
		var failed *auth.RequestError
		if err == nil || errors.As(err, &failed) && failed.NotSent {
			return err
		}
		return e.noteUnfinished(p, err) // unless Complete has seen to that
	}
	grant, err := flow.Poll(ctx, p.Login)
	if err != nil {
		return e.noteUnfinished(p, err)
	}
	return e.conclude(p, grant, nil)
}

// noteUnfinished notes that a login was shown in vain. The user is not asked again
// before the program asks for it.
func (e *entry) noteUnfinished(p *pending, why error) error {
	if e.manager.closing.Err() != nil {
		return why // the next process may ask
	}
	return e.conclude(p, nil, why)
}

// conclude ends a login, with a token set or with the reason why there is none.
func (e *entry) conclude(p *pending, g *auth.TokenSet, why error) error {
	ctx, stop := e.manager.lasting(e.key)
	defer stop()
	flow, config, err := e.manager.flow(e.key)
	if err != nil {
		return err
	}
	name := loginName(p.Login)
	err = e.exclusively(ctx, func(ctx context.Context) error {
		if g != nil && p.URL != config.URL {
			return &auth.StateError{Server: e.key.Server, Problem: "the server has got another address since it was begun"}
		}
		if g != nil {
			return e.keep(ctx, &answer{grant: g, url: config.URL, login: true, begun: true}, true)
		}
		_, err := e.change(ctx, func(r *record) *record {
			if r.Login == nil || r.Login.Name != name {
				return nil // another login has taken its place, or the user has logged out
			}
			ask := !r.Login.Prompt && !declined(why) // nothing is shown unless the user clicks on it
			return r.with(func(r *record) {
				r.Login, r.DeclinedReason, r.Failed = nil, "", e.silence(why)
				if !ask && e.manager.requests.Err() == nil { // else the next process may ask
					r.DeclinedReason = r.Failed
				}
				if refused := (*auth.OAuthError)(nil); errors.As(why, &refused) {
					r.Unanswered = false
				}
				if c := r.Client; c != nil && c.ID == p.Login.Client.ID && unknownClient(&p.Login.Client, why) {
					r.Client = nil
				}
			})
		})
		return err
	})
	e.manager.drop(ctx, name)
	if unknownClient(&p.Login.Client, why) {
		e.manager.forgetClient(ctx, config, &p.Login.Client)
	}
	switch {
	case why != nil:
		return why
	case errors.As(err, new(*auth.StateError)):
		asking, stopAsking := e.manager.request(ctx)
		defer stopAsking()
		_ = flow.Revoke(asking, g) // no session keeps it
	case err == nil:
		e.manager.opts.Logger.Info("session: logged in", "user", e.key.User, "server", e.key.Server)
	}
	return err
}

// declined reports whether the user has declined.
func declined(why error) bool {
	var refused *auth.OAuthError
	return errors.Is(why, auth.ErrDeclined) || errors.As(why, &refused) && refused.Code == "access_denied"
}

// unanswered is why a user who did not come back is not asked again.
const unanswered = "the login was not answered"

// silence says why a login has failed, after which the user may not be asked again.
func (e *entry) silence(why error) string {
	switch {
	case declined(why):
		return "the login was declined"
	case errors.Is(why, context.DeadlineExceeded):
		return unanswered
	}
	return "the login failed: " + e.words(why)
}

func loginName(p *auth.Pending) string {
	if p.Device != nil {
		return pendingName(p.Device.Code.Reveal())
	}
	return pendingName(p.State.Reveal())
}
