package rest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// defaultTimeout is how long a request takes at most that does not say. Tests have a longer
// one.
var defaultTimeout = 30 * time.Second

// A RequestError reports a request that got no answer, or none that could be read.
// It shows nothing of the address but the host, and nothing of the answer.
type RequestError struct {
	// API is the name of the API.
	API string
	// Endpoint is the name of the endpoint; empty if the request is not one of an
	// endpoint.
	Endpoint string
	// NotSent says that the API cannot have received the request.
	NotSent bool
	// Err says what happened: the error of the context, if that has ended.
	Err error
}

func (e *RequestError) Error() string {
	text := "rest: API " + plain.Quote(e.API) + ": "
	if e.Endpoint != "" {
		text += "endpoint " + plain.Quote(e.Endpoint) + ": "
	}
	return text + e.Err.Error()
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent] or [mcp.Unknown].
func (e *RequestError) Outcome() mcp.Outcome {
	if e.NotSent {
		return mcp.NotSent
	}
	return mcp.Unknown
}

// ErrClosed is the reason why a [Service] that was closed sends nothing.
var ErrClosed = errors.New("the service was closed")

// A lateError is the cause of a context that a call's own time has ended.
type lateError struct{ after time.Duration }

func (e *lateError) Error() string { return "no whole answer within " + e.after.String() }

// A sender sends the requests of a Service to its API.
type sender struct {
	api     string
	base    target
	headers []linkHeader
	login   login
	lookup  func(ctx context.Context, name string) (string, error)
	do      func(context.Context, *guardhttp.Request) (*guardhttp.Response, error)
	guard   *guardhttp.Client
	tokens  *tokens
	closed  atomic.Bool
}

type linkHeader struct {
	name   string
	text   secretText
	secret bool
}

// prepare checks the base URL, the headers and the login, and makes what send needs.
func (s *Service) prepare() []Problem {
	p := &problems{}
	l := &sender{api: s.api.Name, lookup: s.opts.Secrets}
	if l.lookup == nil {
		l.lookup = environment
	}
	l.login = newLogin(&s.api.Auth, p)
	l.login.checkEndpoints(s.api, p)
	l.setHeaders(s.api, p)
	l.base = parseBase(s.api.BaseURL, p)
	hosts := []string{l.base.host}
	if l.login.source != nil {
		hosts = append(hosts, l.login.source.url.host)
	}
	l.guard = s.opts.Network.guard(nil, hosts...)
	l.do = l.guard.Do
	l.check(l.base, "baseUrl", p)
	if l.login.source != nil {
		l.check(l.login.source.url, "auth.token.url", p)
		l.tokens = &tokens{}
	}
	checkHealth(s.api.HealthPath, p)
	s.sender = l
	return p.list
}

// parseBase reads the base URL.
func parseBase(raw string, p *problems) target {
	t, problem := parseTarget("baseUrl", raw)
	switch {
	case problem != "":
		t.host = ""
	case strings.Contains(raw, "?"):
		problem = "has a query: make it parameters with a default, or the login's"
	}
	if problem != "" {
		p.add("baseUrl", problem)
	}
	return t
}

// check notes why an address may not be spoken to, as far as that can be seen.
func (l *sender) check(t target, field string, p *problems) {
	if t.host == "" {
		return // has a problem already
	}
	_, err := l.guard.Check(t.origin + t.path.sample())
	if refused := (*guardhttp.Refusal)(nil); errors.As(err, &refused) {
		p.add(field, refused.Problem)
	}
}

// setHeaders checks the headers of all requests.
func (l *sender) setHeaders(api *API, p *problems) {
	taken := map[string]bool{l.login.header(): true}
	for _, name := range slices.Sorted(maps.Keys(api.Headers)) {
		place := "headers." + name
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpfield.ValidName(name):
			p.add("headers", "has the name "+plain.Quote(name)+", which is not that of a header: use letters, digits and -")
			continue
		case !headerMaySet(name):
			p.add(place, "cannot be set: it is about the connection or the body, which sets it")
		case canonical == l.login.header():
			p.add(place, "is set by the login: leave it out, or leave auth out")
		case taken[canonical]:
			p.add(place, "is there twice, in upper and lower case: remove one")
		}
		taken[canonical] = true
		text, problem := parseSecretText(place, api.Headers[name])
		if problem == "" && !httpfield.ValidValue(text.sample()) {
			problem = "holds a line break or another control character: remove it"
		} else if problem == "" && isMask(api.Headers[name]) {
			problem = maskProblem
		}
		if problem != "" {
			p.add(place, problem)
		}
		l.headers = append(l.headers, linkHeader{canonical, text, soundsSecret(name)})
	}
}

// send sends a request with the login, once more with a new token if the one that
// there was is not valid any more, and returns the whole answer, without the secrets
// that were sent. Its errors are *RequestError, *SecretError and *TokenError.
func (s *Service) send(ctx context.Context, r *request) (*answer, error) {
	l := s.sender
	if l.closed.Load() {
		return nil, &RequestError{API: l.api, Endpoint: r.endpoint, NotSent: true, Err: ErrClosed}
	}
	timeout := r.timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &lateError{timeout})
	defer cancel()
	k := &keyring{api: l.api, lookup: l.lookup}
	used, err := l.token(ctx, k)
	if err != nil {
		return nil, l.fail(ctx, r, err)
	}
	first, err := l.sendOnce(ctx, k, r)
	if err != nil || used == nil || !l.login.source.rejects(first) {
		return k.cleaned(first), err
	}
	used.rejected.Store(true)
	renewed, err := l.token(ctx, k)
	switch {
	case err != nil:
		return nil, l.fail(ctx, r, err)
	case renewed.text == used.text:
		return k.cleaned(first), nil // it would say the same again
	}
	second, err := l.sendOnce(ctx, k, r)
	return k.cleaned(second), err
}

// fail makes an error of the time before the request was sent one of the call.
func (l *sender) fail(ctx context.Context, r *request, err error) error {
	var secret *SecretError
	var token *TokenError
	if errors.As(err, &secret) || errors.As(err, &token) {
		return err
	}
	return &RequestError{API: l.api, Endpoint: r.endpoint, NotSent: true, Err: l.reason(ctx, err)}
}

// reason returns why something failed: if its time was over, which.
func (l *sender) reason(ctx context.Context, err error) error {
	var late *lateError
	switch {
	case ctx.Err() == nil:
		return err
	case errors.As(context.Cause(ctx), &late):
		return late
	}
	return ctx.Err()
}

// sendOnce sends a request with the token of the keyring.
func (l *sender) sendOnce(ctx context.Context, k *keyring, r *request) (*answer, error) {
	out := *r
	out.header = r.header.Clone()
	if out.header == nil {
		out.header = make(http.Header)
	}
	fail := func(err error) error { return l.fail(ctx, r, err) }
	for _, h := range l.headers {
		value, err := k.header(ctx, h.text, h.secret)
		if err != nil {
			return nil, fail(err)
		}
		out.header[h.name] = []string{value}
	}
	if err := l.login.apply(ctx, k, &out); err != nil {
		return nil, fail(err)
	}
	body, contentType, err := out.body.encode()
	if err != nil {
		return nil, fail(err)
	}
	if contentType != "" {
		out.header["Content-Type"] = []string{contentType}
	}
	if cookies := out.cookieHeader(); cookies != "" {
		if own := out.header.Get("Cookie"); own != "" {
			cookies = own + "; " + cookies
		}
		out.header["Cookie"] = []string{cookies}
	}
	base, err := l.base.pathText(ctx, k)
	if err != nil {
		return nil, fail(err)
	}
	if out.path != "" {
		base = strings.TrimSuffix(base, "/")
	}
	to := l.base.origin + base + out.path
	if query := out.rawQuery(); query != "" {
		to += "?" + query
	}
	resp, err := l.do(ctx, &guardhttp.Request{
		Method: r.method, URL: to, Header: out.header, Body: string(body),
		Follow: r.safe, Timeout: untilEnd, MaxBytes: r.maxBytes,
	})
	if err != nil {
		return nil, l.requestError(ctx, r, err)
	}
	return &answer{resp.Status, resp.Header, resp.Body, resp.Truncated}, nil
}

// untilEnd leaves it to the context when a request is over.
const untilEnd = 24 * time.Hour

// requestError makes an error of the guard one of the call.
func (l *sender) requestError(ctx context.Context, r *request, err error) error {
	e := &RequestError{API: l.api, Endpoint: r.endpoint, Err: err}
	var refused *guardhttp.Refusal
	var failed *guardhttp.Failure
	switch {
	case errors.As(err, &refused):
		e.NotSent = true
	case errors.As(err, &failed):
		e.NotSent = failed.NotSent
		if ctx.Err() != nil {
			e.Err = l.reason(ctx, err)
		}
	}
	return e
}

// cleaned returns an answer without the secrets of the call; nil of nil.
func (k *keyring) cleaned(a *answer) *answer {
	if a != nil {
		k.clean(a)
	}
	return a
}

// Close forgets tokens and hangs up connections that are not in use. Calls after it
// fail with [ErrClosed]; those that are under way go on. Closing again does nothing.
func (s *Service) Close() error {
	s.sender.closed.Store(true)
	if s.sender.tokens != nil {
		s.sender.tokens.close()
	}
	s.sender.guard.Close()
	return nil
}
