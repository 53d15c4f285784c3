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
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// callTimeout is how long a request takes at most that does not say. Tests have a longer
// one.
var callTimeout = 30 * time.Second

// ErrClosed is the reason why a [Service] that was closed sends nothing.
//
//cure:make a new Service
var ErrClosed = errors.New("the service was closed")

// connect checks the base URL, the headers and the login.
func (s *Service) connect(p *problems) {
	s.login = newLogin(&s.api.Auth, p)
	s.setHeaders(p)
	s.base = parseTarget("baseUrl", s.api.BaseURL, p)
	s.guard = s.opts.Network.guard(s.base.host, s.login.source.host)
	s.do = s.guard.Do
	for _, t := range []*target{&s.base, &s.login.source} {
		if t.host == "" {
			continue // there is none, or it has a problem already
		}
		sample, _ := t.sample()
		_, err := s.guard.Check(sample)
		if refused := (*guardhttp.Refusal)(nil); errors.As(err, &refused) {
			p.add(t.place, refused.Problem)
		}
	}
	checkHealth(s.api.HealthPath, p)
}

// setHeaders checks the headers of all requests.
func (s *Service) setHeaders(p *problems) {
	taken := map[string]bool{}
	s.headers = slices.Sorted(maps.Keys(s.api.Headers))
	for _, name := range s.headers {
		place := "headers." + name
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpfield.ValidName(name):
			p.add("headers", "has the name "+plain.Quote(name)+", which is not that of a header: use letters, digits and -")
			continue
		case !headerMaySet(name):
			p.add(place, "cannot be set: it is about the connection or the body, which sets it")
		case s.login.sets(InHeader, name):
			p.add(place, "is set by the login: leave it out, or leave auth out")
		case taken[canonical]:
			p.add(place, "is there twice, in upper and lower case: remove one")
		}
		taken[canonical] = true
		p.checkText(place, s.api.Headers[name])
		if text, _ := sample(s.api.Headers[name]); !httpfield.ValidValue(text) {
			p.add(place, "holds a line break or another control character: remove it")
		}
	}
}

// hasHeader reports whether a header is among those of all requests.
func (s *Service) hasHeader(name string) bool {
	return slices.ContainsFunc(s.headers, func(have string) bool { return strings.EqualFold(have, name) })
}

// send sends a request with the login, once more with a new token if the one that
// there was is not valid any more, and returns the whole answer, without the secrets
// that were sent. Its errors are *Error.
func (s *Service) send(ctx context.Context, r *request) (*guardhttp.Answer, error) {
	if s.closed.Load() {
		return nil, s.notSent(ctx, r, ErrClosed)
	}
	timeout := cmp.Or(r.timeout, callTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no whole answer within %s", timeout))
	defer cancel()
	k := &keyring{lookup: s.opts.Secrets}
	used, err := s.token(ctx, k)
	if err != nil {
		return nil, s.notSent(ctx, r, err)
	}
	a, err := s.sendOnce(ctx, k, r)
	if err == nil && used != nil && s.login.Token.rejects(a) {
		used.rejected.Store(true)
		var renewed *token
		if renewed, err = s.token(ctx, k); err != nil {
			return nil, s.notSent(ctx, r, err)
		}
		if renewed.text != used.text { // otherwise it would say the same again
			a, err = s.sendOnce(ctx, k, r)
		}
	}
	if err != nil {
		return nil, err
	}
	k.clean(a)
	return a, nil
}

// notSent makes an error of the time before the request was sent one of the call.
func (s *Service) notSent(ctx context.Context, r *request, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if told := (*callError)(nil); errors.As(err, &told) {
		return err
	}
	return &callError{s.api.Name, r.endpoint, err, mcp.NotSent}
}

// sendOnce sends a request with the token of the keyring.
func (s *Service) sendOnce(ctx context.Context, k *keyring, r *request) (*guardhttp.Answer, error) {
	out := *r
	if out.header = r.header.Clone(); out.header == nil {
		out.header = make(http.Header)
	}
	to, err := s.complete(ctx, k, &out)
	if err != nil {
		return nil, s.notSent(ctx, r, err)
	}
	resp, err := s.do(ctx, &guardhttp.Request{
		Method: r.method, URL: to, Header: out.header, Body: out.body.text,
		Follow: r.safe, Timeout: untilEnd, MaxBytes: r.maxBytes,
	})
	if err == nil {
		return resp, nil
	}
	e := &callError{s.api.Name, r.endpoint, err, mcp.Unknown}
	var refused *guardhttp.Refusal
	var failed *guardhttp.Failure
	if errors.As(err, &refused) || errors.As(err, &failed) && failed.NotSent {
		e.outcome = mcp.NotSent
	}
	if ctx.Err() != nil && refused == nil {
		e.err = context.Cause(ctx)
	}
	return nil, e
}

// untilEnd leaves it to the context when a request is over.
const untilEnd = 24 * time.Hour

// complete adds the login and the headers of all requests to a request, whose header is its
// own, and returns its address.
func (s *Service) complete(ctx context.Context, k *keyring, r *request) (string, error) {
	for _, name := range s.headers {
		place := "headers." + name
		text, err := k.text(ctx, place, s.api.Headers[name], mask.IsSecretName(name))
		if err == nil {
			text, err = headerText(place, text)
		}
		if err != nil {
			return "", err
		}
		r.header.Set(name, text)
	}
	if err := s.login.apply(ctx, k, r); err != nil {
		return "", err
	}
	if r.body.contentType != "" {
		r.header["Content-Type"] = []string{r.body.contentType}
	}
	to, err := s.base.url(ctx, k)
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
	s.closed.Store(true)
	s.tokens.close()
	s.guard.Close()
	return nil
}
