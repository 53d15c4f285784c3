package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Tests set these to what a busy machine does not reach, or need not wait for.
var (
	// renewBase is about the pause after a renewal that has failed, and saveBase that
	// after an answer could not be saved; they grow up to renewCeiling.
	renewBase, saveBase = 500 * time.Millisecond, 500 * time.Millisecond
	// journalTime bounds the saving of the journal.
	journalTime = 15 * time.Second
)

const (
	renewCeiling = 60 * time.Second
	// mendTime is how long a server is left alone where no program can register itself.
	mendTime = 10 * time.Minute
	// maxRefusals is how many new tokens in a row a server may refuse before the
	// login counts as ended.
	maxRefusals = 3
)

// A request says why a session has to change.
type request struct {
	sent       auth.Secret      // the access token that is no longer good; empty if none was sent
	challenges []auth.Challenge // what the server asked for; nil if it did not
	rejected   bool             // the server has refused sent
	stepUp     []string         // the scopes that a request to the server lacks
	asked      bool             // the program has asked for a login
	quiet      bool             // no caller waits: no login is begun
}

// covers reports whether the work that is done for r is also that for other.
func (r request) covers(other request) bool {
	if len(r.stepUp) > 0 || len(other.stepUp) > 0 || other.asked && !r.asked || r.quiet && !other.quiet {
		return false
	}
	return r.sent == other.sent || other.sent == ""
}

// A job is the work on one session for a request. All callers that need the same wait for
// it together. Its goroutine is the only one that works on the session.
type job struct {
	*entry
	request request
	done    chan struct{}

	// The following belong to the goroutine of the job.
	flow   *auth.Flow
	config *auth.Config
	record *record // as it is in the store
	at     storage.Revision
	reason string // why a login is needed although the present one has not ended

	// The following are set before done is closed.
	err    error
	login  *login        // that waits for the user by now
	prompt *activePrompt // if it is shown at this machine
	logins int           // before it
}

// ensure does the work for r once, shared with concurrent callers, and waits for it or
// until ctx ends.
func (e *entry) ensure(ctx context.Context, r request) error {
	_, err := e.ensureBy(ctx, r)
	return err
}

// ensureBy is ensure. It returns the job that has done the work.
func (e *entry) ensureBy(ctx context.Context, r request) (*job, error) {
	for {
		e.mu.Lock()
		if e.evicted {
			e.mu.Unlock()
			e = e.manager.entry(e.key)
			continue
		}
		j := e.job
		mine := j == nil
		if mine {
			j = &job{entry: e, request: r, done: make(chan struct{})}
			e.job = j
		}
		e.mu.Unlock()
		if mine && !e.manager.run(j.run) {
			j.finish(ErrClosed)
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if mine || j.request.covers(r) {
			return j, j.err
		}
	}
}

func (j *job) finish(err error) {
	j.mu.Lock()
	j.entry.job = nil
	j.mu.Unlock()
	j.err = err
	close(j.done)
}

// run does the work of a job.
func (j *job) run() {
	ctx, stop := context.WithTimeout(WithUser(j.manager.closing, j.key.User), workTime)
	defer stop()
	err := j.work(ctx)
	if ctx.Err() != nil && j.manager.closing.Err() != nil && errors.Is(err, context.Canceled) {
		err = ErrClosed
	}
	j.finish(err)
}

// work does what is needed, as the only process that does so.
func (j *job) work(ctx context.Context) (err error) {
	defer j.manager.caught(j.key, &err)
	if j.flow, j.config, err = j.manager.flow(j.key); err != nil {
		return err
	}
	unlock, err := j.locked(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := j.saveUnsaved(ctx); err != nil {
		return err
	}
	for {
		r, at, err := j.load(ctx)
		if err == nil {
			j.record, j.at, j.reason = r.at(j.config.URL), at, ""
			err = j.do(ctx)
		}
		if !errors.Is(err, storage.ErrConflict) || ctx.Err() != nil {
			return err
		}
		// A process has changed the session that does not hold its lock.
	}
}

// put saves what f makes of the record.
func (j *job) put(ctx context.Context, f func(*record)) error {
	next := j.record.with(f)
	at, err := j.save(ctx, next, j.at)
	if err != nil {
		return err
	}
	j.record, j.at = next, at
	return nil
}

func (j *job) do(ctx context.Context) error {
	grant := j.record.live(j.config.URL)
	switch {
	case j.request.asked:
		return j.beginLogin(ctx, "")
	case len(j.request.stepUp) > 0:
		return j.stepUp(ctx, grant)
	case grant != nil && grant.Token.Access != j.request.sent:
		return nil // another process was faster
	}
	if grant != nil && j.request.rejected {
		over, err := j.judgeRefusal(ctx, grant)
		if err != nil {
			return err
		}
		if over {
			grant = nil
		}
	}
	if grant != nil && grant.Token.Refresh != "" {
		if over, err := j.refresh(ctx, grant); err != nil || !over {
			return err
		}
	}
	switch {
	case !j.config.Grant.Interactive() && j.record.DeclinedReason == "":
		return j.obtain(ctx, nil)
	case j.request.quiet:
		return nil // the server's 401 will tell whether a login is needed
	}
	return j.beginLogin(ctx, cmp.Or(j.reason, j.record.why()))
}

// judgeRefusal decides what it means that the server refuses a token. It reports true
// if the login is over.
func (j *job) judgeRefusal(ctx context.Context, grant *auth.TokenSet) (over bool, err error) {
	refusals := j.refused(j.request.sent)
	switch {
	case refusals == 0:
		return false, nil // it had been good, and has come to its end
	case refusals > maxRefusals && !j.config.Grant.Interactive():
		if time.Since(grant.Token.Obtained) > renewCeiling {
			return false, nil
		}
		return false, j.failed(errors.New("the server refuses new tokens; it may trust another authorization server, or expect another audience"))
	case refusals > maxRefusals:
		return true, j.end(ctx, "the server no longer accepts the tokens of this login")
	case j.moved(ctx, grant):
		return true, j.end(ctx, "the server has another authorization server now")
	}
	return false, nil
}

// end notes that the present grant cannot be renewed.
func (j *job) end(ctx context.Context, reason string) error {
	j.manager.opts.Logger.Info("session: ended", "user", j.key.User, "server", j.key.Server, "reason", reason)
	j.mu.Lock()
	j.forgiveLocked() // what failed is over
	j.mu.Unlock()
	return j.put(ctx, func(r *record) { r.Ended, r.Journal = reason, nil })
}

// moved reports whether the server has another authorization server by now. What
// cannot be found out counts as no.
func (j *job) moved(ctx context.Context, grant *auth.TokenSet) bool {
	a, err := j.flow.Discover(ctx, j.discoverOptions())
	return err == nil && a.Issuer != grant.Authority.Issuer
}

func (j *job) discoverOptions() *auth.DiscoverOptions {
	o := &auth.DiscoverOptions{Challenges: j.request.challenges, HadMetadata: j.record.HadMetadata}
	if o.Challenges == nil {
		o.Challenges = j.record.Challenges
	}
	if g := j.record.Grant; g != nil && j.record.URL == j.config.URL {
		o.Issuer = g.Authority.Issuer
	}
	return o
}

// refresh renews the token by its refresh token. It reports true if that cannot be
// done any more, so that another login is needed.
func (j *job) refresh(ctx context.Context, grant *auth.TokenSet) (over bool, err error) {
	if wait := j.resting(); wait != nil && !(j.request.rejected && isLasting(j.lastFailure())) {
		return false, wait
	}
	lost := j.record.Journal != nil // a request whose answer was not saved
	hash := hashOf(grant.Token.Refresh.Reveal())
	grant = j.upToDate(ctx, grant)
	soon, stopSoon := context.WithTimeout(ctx, journalTime)
	defer stopSoon()
	err = j.put(soon, func(r *record) {
		r.Journal = &journal{Refresh: hash}
	})
	if err != nil {
		return false, err // and nothing was sent
	}
	ctx, stop := j.manager.lasting(j.key)
	defer stop()
	asking, stopAsking := j.manager.request(ctx)
	defer stopAsking()
	renewed, err := j.flow.Refresh(asking, grant)
	if err == nil {
		err = j.keep(ctx, &answer{grant: renewed, url: j.config.URL, hash: hash}, true)
		if err == nil {
			j.manager.opts.Logger.Debug("session: renewed", "user", j.key.User, "server", j.key.Server)
		}
		return false, err
	}
	var refused *auth.OAuthError
	switch {
	case errors.As(err, &refused) && refused.Code == "invalid_grant":
		reason := "the authorization server no longer knows it: " + j.words(err)
		if lost {
			reason = "the answer to an earlier renewal was lost"
		}
		return true, j.end(ctx, reason)
	case unknownClient(&grant.Client, err):
		j.record = j.record.with(func(r *record) { r.Client = nil })
		j.manager.forgetClient(ctx, j.config, &grant.Client)
		return true, j.end(ctx, "the authorization server no longer knows this program: "+j.words(err))
	}
	if isLasting(err) && (refused.Code != "" || j.failures() >= maxRefusals-1) {
		return true, j.end(ctx, "the authorization server refuses to renew it: "+j.words(err))
	}
	unfit := errors.As(err, new(*auth.IssuerMismatchError)) || errors.As(err, new(*auth.RegistrationError))
	_ = j.put(ctx, func(r *record) {
		r.Journal = nil
		if lost || mayBeUsedUp(err) {
			r.Journal = &journal{Refresh: hash}
		}
	}) // if that fails the journal stays as it is, and tells the same
	if unfit {
		// Nothing was sent. Should that be a mistake, the login is good again
		// when it is mended.
		j.reason = "it does not fit the configuration any more"
		return true, nil
	}
	return false, j.failed(err)
}

// upToDate returns the token set with the present endpoints of its authorization
// server, if those it has have failed more than once.
func (j *job) upToDate(ctx context.Context, grant *auth.TokenSet) *auth.TokenSet {
	if j.failures() < 2 {
		return grant
	}
	a, err := j.flow.Discover(ctx, j.discoverOptions())
	if err != nil || a.Issuer != grant.Authority.Issuer {
		return grant
	}
	moved := *grant
	moved.Authority = *a
	return &moved
}

// failures returns how often in a row the session could not be renewed.
func (j *job) failures() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fails
}

// words returns what an error says, in one line, without the name of the server: it stands beside it.
func (e *entry) words(err error) string {
	text := strings.TrimPrefix(err.Error(), "auth: ")
	return plain.Line(strings.TrimPrefix(text, fmt.Sprintf("server %q: ", e.key.Server)))
}

// isLasting reports whether an error is a refusal that does not pass by itself, so that only a
// login helps, whatever its code is (obot#7501, codex#39054).
func isLasting(err error) bool {
	refused := (*auth.OAuthError)(nil)
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return !slices.Contains([]string{"temporarily_unavailable", "server_error", "slow_down", "authorization_pending"}, refused.Code) && (refused.Status/100 == 4 || refused.Code != "" && refused.Status < 500)
}

// mayBeUsedUp reports whether an authorization server may have taken a refresh
// token although the request failed.
func mayBeUsedUp(err error) bool {
	if refused, ok := errors.AsType[*auth.OAuthError](err); ok {
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
		return &RefreshError{key: e.key, RetryAt: e.retryAt, err: e.lastErr}
	}
	return nil
}

// failed notes that a token could not be renewed for now.
func (e *entry) failed(err error) error {
	_ = e.pause(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	return &RefreshError{key: e.key, RetryAt: e.retryAt, err: err}
}

// pause notes a failure that may pass, and returns it. The next attempt has to
// wait.
func (e *entry) pause(err error) error {
	var refused *auth.OAuthError
	wait := time.Duration(0)
	if errors.As(err, &refused) {
		wait = refused.RetryAfter
	}
	if noOAuth := (interface{ NoOAuth() bool })(nil); errors.As(err, &noOAuth) && noOAuth.NoOAuth() ||
		errors.As(err, new(*auth.RegistrationError)) && isLasting(err) {
		wait = mendTime
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

// obtain gets a token set without a human.
func (j *job) obtain(ctx context.Context, more []string) error {
	if wait := j.resting(); wait != nil && !j.request.asked {
		return wait
	}
	a, err := j.flow.Discover(ctx, j.discoverOptions())
	if err != nil {
		return j.failed(err)
	}
	scopes := j.flow.ChooseScopes(a, j.request.challenges, more)
	c, err := j.register(ctx, a, "", scopes)
	if err != nil {
		return j.failed(err)
	}
	ctx, stop := j.manager.lasting(j.key)
	defer stop()
	asking, stopAsking := j.manager.request(ctx)
	defer stopAsking()
	g, err := j.flow.Obtain(asking, a, c, scopes)
	if unknownClient(c, err) {
		j.manager.forgetClient(ctx, j.config, c)
	}
	if err != nil {
		return j.failed(err)
	}
	return j.keep(ctx, &answer{grant: g, url: j.config.URL, login: j.request.asked}, true)
}
