package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry"
)

// maxHealthAnswer bounds what is read of an answer that is of no interest.
const maxHealthAnswer = 64 << 10

// A HealthError reports an API that answers, but not as one that can be used.
type HealthError struct {
	// API is the name of the API.
	API string
	// Status is the HTTP status of its answer.
	Status int
	// Err says what that means.
	Err error
}

func (e *HealthError) Error() string {
	return fmt.Sprintf("rest: API %s is not healthy: HTTP status %d: %v", plain.Quote(e.API), e.Status, e.Err)
}

// Unwrap returns Err.
func (e *HealthError) Unwrap() error { return e.Err }

// Health asks the API whether it can be used, with the login. It returns nil if so.
// Nothing is remembered, and nothing asks in the background; see [Service.Watch].
//
// With a [API].HealthPath that is a GET whose status has to be one of success. Without
// one it is a HEAD of the base URL, where most APIs have nothing: any answer will do
// but one that refuses the login (401, 403 and 407) or reports trouble (500 and more,
// but not 501, which is about HEAD). A login that goes into the body is left out.
//
// The errors are [*HealthError], and as of a call [*RequestError], [*SecretError] and
// [*TokenError]. Health ends with ctx, and after 30 seconds.
func (s *Service) Health(ctx context.Context) error {
	r := &request{method: http.MethodHead, safe: true, maxBytes: maxHealthAnswer}
	path, query, _ := strings.Cut(s.api.HealthPath, "?")
	if s.api.HealthPath != "" {
		r.method, r.path = http.MethodGet, path
		for part := range strings.SplitSeq(query, "&") {
			if name, value, _ := strings.Cut(part, "="); part != "" {
				r.query = append(r.query, pair{name, value})
			}
		}
	}
	a, err := s.send(ctx, r)
	if err != nil {
		return err
	}
	var problem string
	switch {
	case a.status == http.StatusUnauthorized:
		problem = "the login is not accepted; check auth and its secrets"
	case a.status == http.StatusForbidden:
		problem = "the login has no right to this; check auth and its secrets"
	case a.status == http.StatusProxyAuthRequired:
		problem = "the proxy wants a login"
	case a.status >= 500 && (a.status != http.StatusNotImplemented || s.api.HealthPath != ""):
		problem = "the service is in trouble; try again later"
	case s.api.HealthPath == "" || a.status/100 == 2:
		return nil
	case a.status/100 == 3:
		problem = "the health path leads to another origin, or nowhere; check healthPath"
	default:
		problem = "the health path does not answer with success; check healthPath"
	}
	return &HealthError{API: s.api.Name, Status: a.status, Err: errors.New(problem)}
}

// checkHealth checks the path of Health.
func checkHealth(path string, p *problems) {
	if path == "" {
		return
	}
	switch _, problem := parseTarget("healthPath", "https://host"+strings.ReplaceAll(path, "$", "$$")); {
	case path[0] != '/' || strings.HasPrefix(path, "//"):
		p.add("healthPath", "does not begin with one slash")
	case strings.Contains(path, "#"):
		p.add("healthPath", "has a #, which is for browsers")
	case problem != "":
		p.add("healthPath", problem)
	}
}

// defaultWatch is how often Watch asks if it is not told.
const defaultWatch = time.Minute

// Watch publishes the tools to a registry and takes them out of it while the API is not
// healthy. It asks [Service.Health] at once and then each time that every has passed; 0
// and less mean a minute. A health path makes sure that it asks what matters.
//
// An API whose secrets cannot be had counts as before, at first as healthy: secrets may
// be those of users, and ctx names none. While the API is not healthy, [Service.Tools]
// and [Service.Publish] leave its tools out as well; a tool that a caller holds can be
// called all the same.
//
// Watch returns when ctx has ended, with its error, when the service is closed, with an
// error that is [ErrClosed], and when the registry refuses the tools, with the error of
// [Service.Publish]. The registry keeps what it has then, and the service counts as
// healthy.
func (s *Service) Watch(ctx context.Context, r *registry.Registry, every time.Duration) error {
	if r == nil {
		return errNoRegistry
	}
	if every <= 0 {
		every = defaultWatch
	}
	defer s.sick.Store(false)
	timer := time.NewTimer(every)
	defer timer.Stop()
	sick, published := false, false
	for {
		err := s.Health(ctx)
		var secret *SecretError
		was := sick
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrClosed):
			return err
		case !errors.As(err, &secret):
			sick = err != nil
		}
		s.sick.Store(sick)
		if !published || sick != was {
			if _, err := s.Publish(r); err != nil {
				return err
			}
			published = true
		}
		timer.Reset(every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
