package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/again"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

const (
	// maxStoredLogins bounds the sessions among which a login is looked for.
	maxStoredLogins = 10_000
	// maxLoginsTried bounds the logins that are tried one after the other although the
	// server fails.
	maxLoginsTried = 8
	// discoveryTime bounds one of these attempts.
	discoveryTime = time.Minute

	discoveryRetryBase    = time.Second
	discoveryRetryCeiling = time.Minute
)

// A discovery reads the tools of a server where users have connections of their own, in
// the background, with the login of one of them. It tries again until the tools are known or
// no login is accepted, and begins anew with the next login.
type discovery struct {
	host   *shared
	server string                      // its name
	wanted func() bool                 // whether the server runs, its tools are not known, and they are to be read with a login
	read   func(context.Context) error // reads the tools with the login of the user of the context, unless they are known
	done   func(error)                 // is told why they could not be read; nil: they could
	task   *again.Task                 // runs run

	mu       sync.Mutex // guards the following
	users    []string   // that have logged in since the last attempt
	attempts int        // that failed in a row
	retry    *time.Timer
	cancel   context.CancelFunc // of the attempt that runs; may be nil
}

// begin has the tools be read with the login of a user, or of any who is logged in if
// user is empty, unless they are known.
func (d *discovery) begin(user string) {
	d.mu.Lock()
	if user != "" && !slices.Contains(d.users, user) {
		d.users = append(d.users, user)
		d.users = d.users[max(0, len(d.users)-maxLoginsTried):]
	}
	d.mu.Unlock()
	d.task.Wake()
}

// end ends the discovery for good; the server was stopped.
func (d *discovery) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.retry != nil {
		d.retry.Stop()
	}
	if d.cancel != nil {
		d.cancel()
	}
}

// run tries the logins that there are, and plans the next attempt if that may help.
func (d *discovery) run() {
	if !d.wanted() {
		return
	}
	leave, err := d.host.visit()
	if err != nil {
		return
	}
	defer leave()
	ctx, cancel := context.WithCancel(d.host.intake)
	defer cancel()
	d.mu.Lock()
	if d.retry != nil {
		d.retry.Stop()
	}
	users := d.users
	d.users, d.cancel = nil, cancel
	d.mu.Unlock()
	if d.wanted() { // else it was stopped before the attempt could be cancelled
		err = d.try(ctx, users)
	}
	if ctx.Err() != nil {
		return
	}
	d.done(err)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil || wantsLogin(err) || !d.wanted() {
		d.attempts = 0
		return
	}
	d.retry = time.AfterFunc(backoff.Full(d.attempts, discoveryRetryBase/2, discoveryRetryBase, discoveryRetryCeiling), d.task.Wake)
	d.attempts++
}

// try reads the tools with the login of those who have just logged in, then of others
// whose login is kept. It returns why none was accepted, or nil if there is none.
func (d *discovery) try(ctx context.Context, users []string) error {
	logins := d.host.opts.Logins
	tried, failures := map[string]bool{}, 0
	var failed error
	discovered := func(user string) (done bool) {
		tried[user] = true
		err := d.tryUser(ctx, user)
		switch {
		case err == nil:
			return true
		case !wantsLogin(err):
			failures++
		case logins.Prompts(): // do not have many users asked to log in
			failures = maxLoginsTried
		}
		if failed == nil || wantsLogin(failed) { // what may pass is worth another attempt
			failed = err
		}
		return false
	}
	for _, user := range slices.Backward(users) {
		if discovered(user) {
			return nil
		}
	}
	seen := 0
	var unread error
	for key, err := range logins.Sessions().Keys(ctx) {
		seen++
		if ctx.Err() != nil || seen > maxStoredLogins || failures >= maxLoginsTried {
			break
		}
		if err != nil {
			if !errors.As(err, new(*seal.CorruptError)) {
				unread = err
			}
			continue
		}
		if key.Server != d.server || key.User == "" || tried[key.User] {
			continue
		}
		status, err := logins.Sessions().Status(ctx, key)
		if err == nil && status.Phase == session.LoggedIn && discovered(key.User) {
			return nil
		}
	}
	return cmp.Or(failed, unread)
}

// tryUser reads the tools with the login of a user.
func (d *discovery) tryUser(ctx context.Context, user string) error {
	ctx, stop := context.WithTimeout(session.WithUser(ctx, user), discoveryTime)
	defer stop()
	if err := d.read(ctx); err != nil {
		return fmt.Errorf("the tools cannot be read with the login of user %q: %w", user, err)
	}
	return nil
}
