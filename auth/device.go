package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/feed"
)

const (
	// deviceInterval is the time between two polls where the authorization
	// server names none (RFC 8628, section 3.2).
	deviceInterval = 5 * time.Second
	// slowDown is added to it each time it is too short (section 3.5).
	slowDown = 5 * time.Second
	// maxPollBackoff bounds what failures add to it.
	maxPollBackoff = time.Minute
	// deviceLifetime is how long a code is taken to live if the authorization
	// server does not say, and maxDeviceLifetime how long at most.
	deviceLifetime, maxDeviceLifetime = 10 * time.Minute, time.Hour
	// maxUserCode bounds codes that a user types, in bytes.
	maxUserCode = 64
)

// BeginDevice makes a login by device code (RFC 8628, section 3.1) that waits for
// the user: they open Pending.URL anywhere and type the code of Pending.Device, or open
// the address that has it.
//
// It fails if the authorization server does not offer that. Other errors are [*URLError]
// for addresses that no browser should open, [*OAuthError] and [*RequestError].
func (f *Flow) BeginDevice(ctx context.Context, a *Authority, c *Client, scopes []string) (*Pending, error) {
	if a.DeviceEndpoint == "" {
		return nil, f.metadataError(a.Issuer, "device_authorization_endpoint", "is missing: it offers no login by device code")
	}
	client, err := f.whole(c, a.Issuer)
	if err != nil {
		return nil, err
	}
	key, err := f.bindingKey(a)
	if err != nil {
		return nil, err
	}
	form := url.Values{"client_id": {c.ID}} // also beside other authentication
	scopes = c.registered(scopes)
	f.demand(form, a, scopes)
	p := &Pending{
		Server: f.config.Server, Grant: DeviceCode, Authority: *a, Client: bare(c),
		Scopes: slices.Clone(scopes), DPoPKey: key, Expires: time.Now().Round(0), // without the clock of this process
	}
	post := &clientPost{request: "device authorization", authority: a, endpoint: a.DeviceEndpoint, client: client, form: form}
	if err := f.ask(ctx, post, p.readDevice); err != nil {
		return nil, err
	}
	page, err := f.browserURL("verification_uri", p.URL)
	if err != nil {
		return nil, err
	}
	p.URL = page.String()
	if p.Device.CompleteURL != "" {
		if page, err = f.browserURL("verification_uri_complete", p.Device.CompleteURL); err != nil {
			return nil, err
		}
		p.Device.CompleteURL = page.String()
	}
	return p, nil
}

// readDevice reads the answer to a device authorization request (RFC 8628,
// section 3.2). The addresses are not checked.
func (p *Pending) readDevice(r *reader) {
	p.Device = &Device{Code: r.needed("device_code", " "), UserCode: r.text("user_code"), Interval: deviceInterval}
	r.fail(checkUserCode(p.Device.UserCode))
	if p.URL = r.text("verification_uri"); p.URL == "" {
		p.URL = r.text("verification_url") // Google has kept the name that a draft had
	}
	if p.URL == "" {
		r.fail(errors.New("verification_uri is missing"))
	}
	p.Device.CompleteURL = r.text("verification_uri_complete")
	if seconds := r.seconds("interval"); seconds > 0 {
		p.Device.Interval = time.Duration(math.Ceil(min(seconds, maxDeviceLifetime.Seconds()))) * time.Second
	}
	lifetime, err := r.members.lifetime("expires_in")
	r.fail(err)
	p.Expires = p.Expires.Add(min(cmp.Or(lifetime, deviceLifetime), maxDeviceLifetime))
}

// checkUserCode refuses what a user could not type, or what could play tricks on
// the terminal where it is shown.
func checkUserCode(code string) error {
	switch {
	case code == "":
		return errors.New("user_code is missing")
	case len(code) > maxUserCode:
		return fmt.Errorf("user_code is longer than %d bytes", maxUserCode)
	case !utf8.ValidString(code) || strings.ContainsFunc(code, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("user_code has characters that cannot be shown")
	}
	return nil
}

// Poll asks until the user has finished a login by device code, until p expires
// or until ctx ends, and not more often than the authorization server allows. It
// waits before it asks for the first time, so that it can be called again, also
// by another process. Where it cannot get through it asks less often, and goes
// on. p is not changed.
//
// If the user said no, the error is an [*OAuthError] with the code access_denied;
// if they took too long, one with the code expired_token. If ctx ended, the error
// wraps what ended it; a token that was on its way then is lost.
func (f *Flow) Poll(ctx context.Context, p *Pending) (*TokenSet, error) {
	if p.Grant != DeviceCode || p.Device == nil {
		return nil, &StateError{Server: p.Server, Problem: "the login is not one by device code"}
	}
	if err := f.sameIssuer(&p.Authority); err != nil {
		return nil, err
	}
	var g *TokenSet
	err := poll(ctx, p.Device.Interval, p.Expires, func() error {
		post := &clientPost{
			request:   "token",
			authority: &p.Authority,
			client:    &p.Client,
			form: url.Values{
				"grant_type":  {grantDeviceCode},
				"device_code": {p.Device.Code.Reveal()},
				"client_id":   {p.Client.ID}, // also beside other authentication
			},
			key: p.DPoPKey,
		}
		token, scopes, err := f.token(ctx, post)
		if err == nil {
			g = newTokenSet(p, post.client, token, scopes)
		}
		return err
	})
	if late := (*pollExpired)(nil); errors.As(err, &late) {
		expired := &OAuthError{Server: f.config.Server, Request: "token", Code: "expired_token"}
		if late.last != nil {
			return nil, fmt.Errorf("%w; the last attempt: %w", expired, late.last)
		}
		return nil, expired
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("auth: server %q: gave up waiting for the login by device code: %w", f.config.Server, ctx.Err())
		}
		return nil, err
	}
	return g, nil
}

// A pollExpired says that the time for a login is over. last is why the last
// attempt got no answer; nil if it got one.
type pollExpired struct{ last error }

func (*pollExpired) Error() string { return "the login by device code has expired" }

// poll waits and asks until there is an answer.
func poll(ctx context.Context, interval time.Duration, expires time.Time, ask func() error) error {
	if interval <= 0 {
		interval = deviceInterval
	}
	pause, last := interval, error(nil)
	for {
		if ctx.Err() == nil && !time.Now().Add(pause).Before(expires) {
			return &pollExpired{last}
		}
		if err := feed.Sleep(ctx, pause); err != nil {
			return err
		}
		err := ask()
		if err == nil {
			return nil
		}
		last = nil
		refused, failed := (*OAuthError)(nil), (*RequestError)(nil)
		switch {
		case errors.As(err, &refused) && refused.Code == "authorization_pending":
			pause = interval
		case errors.As(err, &refused) && refused.Code == "slow_down":
			interval += slowDown
			pause = interval
		case refused != nil && refused.passes(), errors.As(err, &failed) && !failed.answered:
			pause, last = min(2*pause, interval+maxPollBackoff), err
		default:
			return err
		}
		if refused != nil {
			pause = max(pause, refused.RetryAfter)
		}
	}
}

// passes reports whether a refusal is of the moment, and says nothing of what was
// asked for.
func (e *OAuthError) passes() bool {
	switch e.Code {
	case "temporarily_unavailable", "server_error":
		return true
	case "":
		return e.Status == http.StatusTooManyRequests || e.Status >= 500
	}
	return e.Status == http.StatusTooManyRequests
}
