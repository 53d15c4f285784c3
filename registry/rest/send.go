package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// callTimeout is how long a request takes at most that does not say. Tests have a longer
// one.
var callTimeout = 30 * time.Second

// ErrClosed is the reason why a [Service] that was closed sends nothing.
var ErrClosed = errors.New("the service was closed")

// A sender sends the requests of a Service to its API.
type sender struct {
	api     string
	base    target
	headers []fixedHeader
	login   login
	lookup  func(ctx context.Context, name string) (string, error)
	do      func(context.Context, *guardhttp.Request) (*guardhttp.Answer, error)
	guard   *guardhttp.Client
	tokens  tokens
	closed  atomic.Bool
}

type fixedHeader struct {
	name   string
	text   secretText
	secret bool
}

// newSender checks the base URL, the headers and the login.
func newSender(api *API, opts *Options, p *problems) *sender {
	l := &sender{api: api.Name, lookup: opts.Secrets}
	if l.lookup == nil {
		l.lookup = environment
	}
	l.login = newLogin(&api.Auth, p)
	l.setHeaders(api, p)
	l.base = parseTarget("baseUrl", api.BaseURL, p)
	targets := []target{l.base}
	if l.login.source != nil {
		targets = append(targets, l.login.source.url)
	}
	var hosts []string
	for _, t := range targets {
		hosts = append(hosts, t.host)
	}
	l.guard = opts.Network.guard(hosts...)
	l.do = l.guard.Do
	for i, t := range targets {
		if t.host == "" {
			continue // has a problem already
		}
		_, err := l.guard.Check(t.origin + t.path.sample())
		if refused := (*guardhttp.Refusal)(nil); errors.As(err, &refused) {
			p.add([]string{"baseUrl", "auth.token.url"}[i], refused.Problem)
		}
	}
	checkHealth(api.HealthPath, p)
	return l
}

// setHeaders checks the headers of all requests.
func (l *sender) setHeaders(api *API, p *problems) {
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(api.Headers)) {
		place := "headers." + name
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpfield.ValidName(name):
			p.add("headers", "has the name "+plain.Quote(name)+", which is not that of a header: use letters, digits and -")
			continue
		case !headerMaySet(name):
			p.add(place, "cannot be set: it is about the connection or the body, which sets it")
		case l.login.sets(InHeader, name):
			p.add(place, "is set by the login: leave it out, or leave auth out")
		case taken[canonical]:
			p.add(place, "is there twice, in upper and lower case: remove one")
		}
		taken[canonical] = true
		text := readSecretText(place, api.Headers[name], p)
		if !httpfield.ValidValue(text.sample()) {
			p.add(place, "holds a line break or another control character: remove it")
		}
		l.headers = append(l.headers, fixedHeader{canonical, text, soundsSecret(name)})
	}
}

// send sends a request with the login, once more with a new token if the one that
// there was is not valid any more, and returns the whole answer, without the secrets
// that were sent. Its errors are *Error.
func (s *Service) send(ctx context.Context, r *request) (*answer, error) {
	l := s.sender
	if l.closed.Load() {
		return nil, l.notSent(ctx, r, ErrClosed)
	}
	timeout := cmp.Or(r.timeout, callTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no whole answer within %s", timeout))
	defer cancel()
	k := &keyring{lookup: l.lookup}
	used, err := l.token(ctx, k)
	if err != nil {
		return nil, l.notSent(ctx, r, err)
	}
	a, err := l.sendOnce(ctx, k, r)
	if err == nil && used != nil && l.login.source.rejects(a) {
		used.rejected.Store(true)
		renewed, err := l.token(ctx, k)
		if err != nil {
			return nil, l.notSent(ctx, r, err)
		}
		if renewed.text != used.text { // otherwise it would say the same again
			a, err = l.sendOnce(ctx, k, r)
		}
		if err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	k.clean(a)
	return a, nil
}

// notSent makes an error of the time before the request was sent one of the call.
func (l *sender) notSent(ctx context.Context, r *request, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if told := (*Error)(nil); errors.As(err, &told) {
		return err
	}
	return &Error{l.api, r.endpoint, err, mcp.NotSent}
}

// sendOnce sends a request with the token of the keyring.
func (l *sender) sendOnce(ctx context.Context, k *keyring, r *request) (*answer, error) {
	out := *r
	if out.header = r.header.Clone(); out.header == nil {
		out.header = make(http.Header)
	}
	to, err := l.complete(ctx, k, &out)
	if err != nil {
		return nil, l.notSent(ctx, r, err)
	}
	resp, err := l.do(ctx, &guardhttp.Request{
		Method: r.method, URL: to, Header: out.header, Body: out.body.text,
		Follow: r.safe, Timeout: untilEnd, MaxBytes: r.maxBytes,
	})
	if err == nil {
		return &answer{resp.Status, resp.Header, resp.Body, resp.Truncated}, nil
	}
	e := &Error{l.api, r.endpoint, err, mcp.Unknown}
	var refused *guardhttp.Refusal
	var failed *guardhttp.Failure
	if errors.As(err, &refused) || errors.As(err, &failed) && failed.NotSent {
		e.outcome = mcp.NotSent
	}
	if ctx.Err() != nil && refused == nil {
		e.Err = context.Cause(ctx)
	}
	return nil, e
}

// untilEnd leaves it to the context when a request is over.
const untilEnd = 24 * time.Hour

// complete adds the login and the headers of all requests to a request, whose header is its
// own, and returns its address.
func (l *sender) complete(ctx context.Context, k *keyring, r *request) (string, error) {
	for _, h := range l.headers {
		value, err := k.header(ctx, h.text, h.secret)
		if err != nil {
			return "", err
		}
		r.header[h.name] = []string{value}
	}
	if err := l.login.apply(ctx, k, r); err != nil {
		return "", err
	}
	if r.body.contentType != "" {
		r.header["Content-Type"] = []string{r.body.contentType}
	}
	to, err := l.base.url(ctx, k)
	if r.path != "" {
		to = strings.TrimSuffix(to, "/") + r.path
	}
	if query := join(r.query); query != "" {
		if strings.Contains(to, "?") { // that of Health
			to += "&" + query
		} else {
			to += "?" + query
		}
	}
	return to, err
}

// Close forgets tokens and hangs up connections that are not in use. Calls after it
// fail with [ErrClosed]; those that are under way go on. Closing again does nothing.
func (s *Service) Close() error {
	s.sender.closed.Store(true)
	s.sender.tokens.close()
	s.sender.guard.Close()
	return nil
}
