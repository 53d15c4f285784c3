package authtest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A Request is one that a [Server] or a [Resource] has received.
type Request struct {
	// Number counts the requests of the server or resource: 1 is the first.
	Number int
	// Endpoint is where it went.
	Endpoint Endpoint
	// Method is its HTTP method.
	Method string
	// Path is the path of its address.
	Path string
	// Query is the query of its address.
	Query url.Values
	// Header has its header fields.
	Header http.Header
	// Form is its body, if that is a form.
	Form url.Values
	// Body is its body.
	Body string
	// Status is the status of the answer: 0 if there is none yet or if the
	// connection was cut, 200 for all that a Resource lets in.
	Status int
}

// records are what a server or resource has received.
type records struct {
	off bool // counts only

	mu       sync.Mutex // guards the following
	requests []Request
	counts   map[Endpoint]int
	granted  map[string]int // token requests that succeeded, by grant type
	refused  map[string]int // by error code
	secrets  []string
	changed  chan struct{} // closed and replaced with each request; nil if no caller waits
}

// add records a request and returns its number.
func (l *records) add(e Endpoint, r *http.Request, body []byte) int {
	q := Request{Endpoint: e, Method: r.Method, Path: r.URL.Path}
	if !l.off {
		q.Query, q.Header, q.Body = r.URL.Query(), r.Header.Clone(), string(body)
		if strings.HasPrefix(r.Header.Get("Content-Type"), formType) {
			q.Form, _ = url.ParseQuery(q.Body) // what can be read of it
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[Endpoint]int{}
	}
	l.counts[e]++
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	if l.off {
		return 0
	}
	q.Number = len(l.requests) + 1
	l.requests = append(l.requests, q)
	return q.Number
}

func (l *records) answered(number, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number > 0 {
		l.requests[number-1].Status = status
	}
}

func (l *records) grant(grantType string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted == nil {
		l.granted = map[string]int{}
	}
	l.granted[grantType]++
}

func (l *records) refuse(code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil {
		l.refused = map[string]int{}
	}
	l.refused[code]++
}

func (l *records) keep(secrets ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return
	}
	for _, secret := range secrets {
		if secret != "" {
			l.secrets = append(l.secrets, secret)
		}
	}
}

func (l *records) all() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

func (l *records) count(e Endpoint) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[e]
}

// await waits until n requests have come to e.
func (l *records) await(ctx context.Context, e Endpoint, n int) error {
	for {
		l.mu.Lock()
		if l.counts[e] >= n {
			l.mu.Unlock()
			return nil
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Requests returns what the server has received, in order. The maps in it must
// not be written.
func (s *Server) Requests() []Request { return s.records.all() }

// Count returns the number of requests that have come to an endpoint.
func (s *Server) Count(e Endpoint) int { return s.records.count(e) }

// Await waits until n requests have come to an endpoint, since the beginning. It
// returns the error of ctx if that ends before.
func (s *Server) Await(ctx context.Context, e Endpoint, n int) error {
	return s.records.await(ctx, e, n)
}

// Granted returns the number of token requests with a grant_type, such as
// refresh_token, that brought a token.
func (s *Server) Granted(grantType string) int {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return s.records.granted[grantType]
}

// Refused returns the number of requests that were answered with an error code,
// such as invalid_grant.
func (s *Server) Refused(code string) int {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return s.records.refused[code]
}

// Secrets returns everything that the server has issued or received that must
// not be seen by others: tokens, codes, verifiers, client secrets, assertions. A
// test can look for them in what it has logged.
func (s *Server) Secrets() []string {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return slices.Clone(s.records.secrets)
}
