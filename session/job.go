package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/session/driver"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

const (
	renewBase    = 500 * time.Millisecond
	renewCeiling = 60 * time.Second
	// leaseTime is how long the journal of another manager is believed to tell of
	// a request under way, where the store cannot lock.
	leaseTime = requestTime + 15*time.Second
	// leasePoll is how often it is looked at.
	leasePoll = 200 * time.Millisecond
	// maxDoubts is how many new tokens in a row a server may refuse before the
	// login counts as ended.
	maxDoubts = 3
)

// A need says why a session has to change.
type need struct {
	sent       auth.Secret      // the access token that is no longer good; empty if none was sent
	challenges []auth.Challenge // what the server asked for; nil if it did not
	rejected   bool             // the server has refused sent
	stepUp     []string         // the scopes that a request lacks
	operation  string           // the request that the server has refused
	asked      bool             // somebody has asked for a login
	quiet      bool             // nobody waits: no login is begun
}

// A job is work on one session that everybody waits for together.
type job struct {
	need need
	done chan struct{}

	// The following are set before done is closed.
	err    error
	login  *login // that waits for the user by now
	shown  *shown // if it is shown at this machine
	logins int    // before it
}

// meet does what n needs, once for all who need the same, and waits for it or
// until ctx ends.
func (e *entry) meet(ctx context.Context, n need) error {
	_, err := e.meetBy(ctx, n)
	return err
}

// meetBy is meet. It returns the job that has done it.
func (e *entry) meetBy(ctx context.Context, n need) (*job, error) {
	for {
		e.mu.Lock()
		if e.retired {
			e.mu.Unlock()
			e = e.manager.entry(e.key)
			continue
		}
		j := e.job
		mine := j == nil
		if mine {
			j = &job{need: n, done: make(chan struct{})}
			e.job = j
		}
		e.mu.Unlock()
		if mine && !e.manager.goes(func() { e.run(j) }) {
			e.finish(j, ErrClosed)
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if mine || j.need.covers(n) {
			return j, j.err
		}
	}
}

// covers reports whether the work that is done for n is also that for other.
func (n need) covers(other need) bool {
	if len(n.stepUp) > 0 || len(other.stepUp) > 0 || other.asked && !n.asked || n.quiet && !other.quiet {
		return false
	}
	return n.sent == other.sent || other.sent == ""
}

func (e *entry) finish(j *job, err error) {
	e.mu.Lock()
	e.job = nil
	e.mu.Unlock()
	j.err = err
	close(j.done)
}

// run does the work of a job.
func (e *entry) run(j *job) {
	ctx, stop := context.WithTimeout(WithUser(e.manager.closing, e.key.User), workTime)
	defer stop()
	err := e.work(ctx, j)
	if ctx.Err() != nil && e.manager.closing.Err() != nil && errors.Is(err, context.Canceled) {
		err = ErrClosed
	}
	e.finish(j, err)
}

// work does what is needed, as the only process that does so.
func (e *entry) work(ctx context.Context, j *job) (err error) {
	defer e.manager.caught(e.key, &err)
	flow, config, err := e.manager.flow(e.key)
	if err != nil {
		return err
	}
	unlock, really, err := e.locked(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := e.saveUnsaved(ctx); err != nil {
		return err
	}
	for {
		err := e.attempt(ctx, j, really, flow, config)
		if !errors.Is(err, driver.ErrConflict) || ctx.Err() != nil {
			return err
		}
		// Somebody has changed the session who does not hold its lock.
	}
}

// attempt does what is needed, unless somebody changes the session meanwhile.
func (e *entry) attempt(ctx context.Context, j *job, really bool, flow *auth.Flow, config *auth.Config) error {
	r, at, err := e.load(ctx)
	if err != nil {
		return err
	}
	if !really {
		if r, at, err = e.awaitLease(ctx, r, at); err != nil {
			return err
		}
	}
	t := &task{entry: e, job: j, need: j.need, flow: flow, config: config, record: r.at(config.URL), at: at}
	return t.do(ctx)
}

// awaitLease waits while another manager sends the refresh token. Whether it still
// does cannot be told by the clock alone, which may be another machine's.
func (e *entry) awaitLease(ctx context.Context, r *record, at seal.Version) (*record, seal.Version, error) {
	tick := time.NewTicker(leasePoll)
	defer tick.Stop()
	var seen seal.Version
	var since time.Time
	for {
		j := r.Journal
		if j == nil || j.Lost || j.Holder == e.manager.holder || time.Since(j.Started) > leaseTime {
			return r, at, nil
		}
		if at != seen {
			seen, since = at, time.Now()
		} else if time.Since(since) > leaseTime {
			return r, at, nil // it began in the future
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, at, ctx.Err()
		}
		var err error
		if r, at, err = e.load(ctx); err != nil {
			return nil, at, err
		}
	}
}

// A task is the work of one job, while it has the session for itself.
type task struct {
	*entry
	job    *job
	need   need
	flow   *auth.Flow
	config *auth.Config
	record *record
	at     seal.Version
	reason string // why a login is needed although the present one has not ended
}

// put saves what f makes of the record.
func (t *task) put(ctx context.Context, f func(*record)) error {
	next := t.record.with(f)
	at, err := t.save(ctx, next, t.at)
	if err != nil {
		return err
	}
	t.record, t.at = next, at
	return nil
}

func (t *task) do(ctx context.Context) error {
	n, grant := t.need, t.record.live(t.config.URL)
	switch {
	case n.asked:
		return t.beginLogin(ctx, "")
	case len(n.stepUp) > 0:
		return t.stepUp(ctx, grant)
	case grant != nil && grant.Token.Access != n.sent:
		return nil // somebody else was faster
	}
	if grant != nil && n.rejected {
		over, err := t.doubt(ctx, grant)
		if err != nil {
			return err
		}
		if over {
			grant = nil
		}
	}
	if grant != nil && grant.Token.Refresh != "" {
		if over, err := t.refresh(ctx, grant); err != nil || !over {
			return err
		}
	}
	switch {
	case !t.config.Grant.Interactive() && t.record.Silent == "":
		return t.obtain(ctx, nil)
	case n.quiet:
		return nil // the server's 401 will tell whether a login is needed
	}
	return t.beginLogin(ctx, cmp.Or(t.reason, t.record.Ended))
}

// doubt considers what it means that the server refuses a token. It reports true
// if the login is over.
func (t *task) doubt(ctx context.Context, grant *auth.Grant) (over bool, err error) {
	doubts := t.refused(t.need.sent)
	switch {
	case doubts == 0:
		return false, nil // it had been good, and has come to its end
	case doubts > maxDoubts && !t.config.Grant.Interactive():
		if time.Since(grant.Token.Obtained) > renewCeiling {
			return false, nil
		}
		return false, t.failed(errors.New("the server refuses new tokens; it may trust another authorization server, or expect another audience"))
	case doubts > maxDoubts:
		return true, t.end(ctx, "the server no longer accepts the tokens of this login")
	case t.moved(ctx, grant):
		return true, t.end(ctx, "the server has another authorization server now")
	}
	return false, nil
}

// end notes that the present grant cannot be renewed.
func (t *task) end(ctx context.Context, reason string) error {
	t.manager.opts.Logger.Info("session: ended", "user", t.key.User, "server", t.key.Server, "reason", reason)
	return t.put(ctx, func(r *record) { r.Ended, r.Journal = reason, nil })
}

// moved reports whether the server has another authorization server by now. What
// cannot be found out counts as no.
func (t *task) moved(ctx context.Context, grant *auth.Grant) bool {
	a, err := t.flow.Discover(ctx, t.discoverOptions())
	return err == nil && a.Issuer != grant.Authority.Issuer
}

func (t *task) discoverOptions() *auth.DiscoverOptions {
	o := &auth.DiscoverOptions{Challenges: t.need.challenges, HadMetadata: t.record.HadMetadata}
	if o.Challenges == nil {
		o.Challenges = t.record.Challenges
	}
	if g := t.record.Grant; g != nil && t.record.URL == t.config.URL {
		o.Issuer = g.Authority.Issuer
	}
	return o
}

// refresh renews the token by its refresh token. It reports true if that cannot be
// done any more, so that another login is needed.
func (t *task) refresh(ctx context.Context, grant *auth.Grant) (over bool, err error) {
	if wait := t.resting(); wait != nil {
		return false, wait
	}
	lost := t.record.Journal != nil // a request of which nobody saved an answer
	hash := hashOf(grant.Token.Refresh.Reveal())
	grant = t.upToDate(ctx, grant)
	soon, stopSoon := context.WithTimeout(ctx, leaseTime-requestTime) // else the others no longer believe it
	defer stopSoon()
	err = t.put(soon, func(r *record) {
		r.Journal = &journal{Started: time.Now(), Holder: t.manager.holder, Refresh: hash}
	})
	if err != nil {
		return false, err // and nothing was sent
	}
	ctx, stop := t.manager.lasting(t.key)
	defer stop()
	asking, stopAsking := t.manager.request(ctx)
	defer stopAsking()
	renewed, err := t.flow.Refresh(asking, grant)
	if err == nil {
		err = t.keep(ctx, &answer{grant: renewed, url: t.config.URL, hash: hash})
		if err == nil {
			t.manager.opts.Logger.Debug("session: renewed", "user", t.key.User, "server", t.key.Server)
		}
		return false, err
	}
	var refused *auth.OAuthError
	switch {
	case errors.As(err, &refused) && refused.Code == "invalid_grant":
		reason := "the authorization server no longer knows it"
		if lost {
			reason = "the answer to an earlier renewal was lost"
		}
		return true, t.end(ctx, reason)
	case unknownClient(&grant.Client, err):
		t.record = t.record.with(func(r *record) { r.Client = nil })
		t.manager.forgetClient(ctx, t.config, &grant.Client)
		return true, t.end(ctx, "the authorization server no longer knows this program")
	}
	unfit := errors.As(err, new(*auth.IssuerMismatchError)) || errors.As(err, new(*auth.RegistrationError))
	_ = t.put(ctx, func(r *record) {
		r.Journal = nil
		if lost || mayBeUsedUp(err) {
			r.Journal = &journal{Started: time.Now(), Holder: t.manager.holder, Refresh: hash, Lost: true}
		}
	}) // if that fails the journal stays as it is, and tells the same
	if unfit {
		// Nothing was sent. Should that be a mistake, the login is good again
		// when it is mended.
		t.reason = "it does not fit the configuration any more"
		return true, nil
	}
	return false, t.failed(err)
}

// upToDate returns the grant with the present endpoints of its authorization
// server, if those it has have failed more than once.
func (t *task) upToDate(ctx context.Context, grant *auth.Grant) *auth.Grant {
	t.mu.Lock()
	fails := t.fails
	t.mu.Unlock()
	if fails < 2 {
		return grant
	}
	a, err := t.flow.Discover(ctx, t.discoverOptions())
	if err != nil || a.Issuer != grant.Authority.Issuer {
		return grant
	}
	moved := *grant
	moved.Authority = *a
	return &moved
}

// mayBeUsedUp reports whether an authorization server may have taken a refresh
// token although the request failed.
func mayBeUsedUp(err error) bool {
	var refused *auth.OAuthError
	if errors.As(err, &refused) {
		return refused.Status >= 500
	}
	var failed *auth.RequestError
	return errors.As(err, &failed) && !failed.NotSent
}

// unknownClient reports whether an authorization server no longer knows the
// program, which had registered itself there and can do so again.
func unknownClient(c *auth.Client, err error) bool {
	var refused *auth.OAuthError
	return c.Source == auth.Dynamic && errors.As(err, &refused) && refused.Code == "invalid_client"
}

// forgiveLocked forgets earlier failures.
func (e *entry) forgiveLocked() {
	e.fails, e.retryAt, e.lastErr = 0, time.Time{}, nil
}

// lastFailure returns why the last attempt failed; nil if it did not.
func (e *entry) lastFailure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastErr
}

// resting returns an error while it is too early for another attempt.
func (e *entry) resting() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().Before(e.retryAt) {
		return &RefreshError{Key: e.key, RetryAt: e.retryAt, Err: e.lastErr}
	}
	return nil
}

// failed notes that a token could not be renewed for now.
func (e *entry) failed(err error) error {
	_ = e.pause(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	return &RefreshError{Key: e.key, RetryAt: e.retryAt, Err: err}
}

// pause notes a failure that may pass, and returns it. The next attempt has to
// wait.
func (e *entry) pause(err error) error {
	var refused *auth.OAuthError
	wait := time.Duration(0)
	if errors.As(err, &refused) {
		wait = refused.RetryAfter
	}
	e.mu.Lock()
	e.fails++
	e.lastErr = err
	e.retryAt = time.Now().Add(max(wait, backoff.Full(e.fails-1, renewBase/2, renewBase, renewCeiling)))
	e.planLocked()
	e.mu.Unlock()
	e.manager.opts.Logger.Warn("session: attempt failed", "user", e.key.User, "server", e.key.Server, "error", err)
	return err
}

// obtain gets a grant without a human.
func (t *task) obtain(ctx context.Context, more []string) error {
	if wait := t.resting(); wait != nil && !t.need.asked {
		return wait
	}
	a, err := t.flow.Discover(ctx, t.discoverOptions())
	if err != nil {
		return t.failed(err)
	}
	c, err := t.register(ctx, a, "")
	if err != nil {
		return t.failed(err)
	}
	scopes, err := t.flow.ChooseScopes(a, t.need.challenges, more)
	if err != nil {
		return err
	}
	ctx, stop := t.manager.lasting(t.key)
	defer stop()
	asking, stopAsking := t.manager.request(ctx)
	defer stopAsking()
	g, err := t.flow.Obtain(asking, a, c, scopes)
	if unknownClient(c, err) {
		t.manager.forgetClient(ctx, t.config, c)
	}
	if err != nil {
		return t.failed(err)
	}
	return t.keep(ctx, &answer{grant: g, url: t.config.URL, login: t.need.asked})
}
