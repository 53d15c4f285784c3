package authtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A Request is one that a [Server] or a [Resource] has received.
type Request struct {
	// Endpoint is where it went.
	Endpoint Endpoint
	// Method is its HTTP method.
	Method string
	// Header has its header fields.
	Header http.Header
	// Form has the query and, if its body is a form, that.
	Form url.Values
	// Body is its body.
	Body string
	// Status is the status of the answer: 0 if there is none yet or if the
	// connection was cut, 200 for all that a Resource lets in.
	Status int

	query string // of its address, for Form
}

// A Fault is what goes wrong with a request. The zero value is none.
type Fault struct {
	// Commit deals with the request before anything else, so that it has its
	// effects: tokens are issued, although their answer may be lost.
	Commit bool
	// Wait holds the request until it is closed. The request goes on, too, when
	// its client gives up and when the server is closed.
	Wait <-chan struct{}
	// Cut closes the connection without an answer.
	Cut bool
	// Status is that of an answer which takes the place of the right one.
	Status int
	// Body is the JSON document of that answer.
	Body string
	// Answer is asked for an answer that takes the place of the right one, and reports false
	// if it has none. The body of r can be read. It must be safe for concurrent use.
	Answer func(w http.ResponseWriter, r *http.Request) bool
}

// A site is what a server and a resource have in common: where they listen, what they have
// received, and what goes wrong with requests that are still to come.
type site struct {
	http  *httptest.Server
	nonce string // that proofs need; empty if they need none

	mu       sync.Mutex // guards the following
	requests []Request
	counts   map[Endpoint]int
	secrets  []string
	faults   map[Endpoint]*pendingFault
	changed  chan struct{} // closed and replaced with each request; nil if no caller waits
}

type pendingFault struct {
	fault Fault
	left  int // negative: without end
}

// listen starts the site. Before it serves anyone, at is told its origin.
func (s *site) listen(o *Options, h http.HandlerFunc, at func(origin string)) {
	if o.DPoPNonce {
		s.nonce = "nonce-" + rand.Text()
	}
	s.counts, s.faults = map[Endpoint]int{}, map[Endpoint]*pendingFault{}
	s.http = httptest.NewUnstartedServer(h)
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse us are no news
	if o.TLS {
		at("https://" + s.http.Listener.Addr().String())
		s.http.StartTLS()
	} else {
		at("http://" + s.http.Listener.Addr().String())
		s.http.Start()
	}
}

// close ends the site and its connections. It stops to listen first: a client that comes back
// at once would get a connection that Close waits for.
func (s *site) close() {
	_ = s.http.Listener.Close()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests returns what was received, in order. The maps in it must not be written.
func (s *site) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.requests)
	for i, q := range all {
		r := http.Request{Method: q.Method, Header: q.Header, URL: &url.URL{RawQuery: q.query}, Body: io.NopCloser(strings.NewReader(q.Body))}
		_ = r.ParseForm() // what can be read of it
		all[i].Form = r.Form
	}
	return all
}

// Count returns the number of requests that have come to an endpoint.
func (s *site) Count(e Endpoint) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[e]
}

// Await waits until n requests have come to an endpoint, since the beginning. It
// returns the error of ctx if that ends before.
func (s *site) Await(ctx context.Context, e Endpoint, n int) error {
	for {
		s.mu.Lock()
		if s.counts[e] >= n {
			s.mu.Unlock()
			return nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Fail makes something go wrong with the next n requests to an endpoint, or with
// all if n is negative. It takes the place of what an earlier Fail has left for
// that endpoint; n = 0 ends it.
func (s *site) Fail(e Endpoint, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[e] = &pendingFault{fault: f, left: n}
}

// add records a request to an endpoint, and returns its number and the fault that is next for it.
func (s *site) add(e Endpoint, r *http.Request, body []byte) (number int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[e]++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	if p := s.faults[e]; p != nil && p.left != 0 {
		p.left = max(p.left-1, -1)
		f = p.fault
	}
	s.requests = append(s.requests, Request{Endpoint: e, Method: r.Method, Header: r.Header.Clone(), Body: string(body), query: r.URL.RawQuery})
	return len(s.requests) - 1, f
}

func (s *site) answered(number, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[number].Status = status
}

func (s *site) keep(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, slices.DeleteFunc(secrets, func(secret string) bool { return secret == "" })...)
}

// serve reads a request to an endpoint, and answers it rightly, or with the fault that is next
// for it.
func (s *site) serve(e Endpoint, w http.ResponseWriter, r *http.Request, right func(w http.ResponseWriter, r *http.Request, body []byte, number int)) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err != nil {
		http.Error(w, "request too large or broken", http.StatusBadRequest)
		return
	}
	n, f := s.add(e, r, body)
	again := func() *http.Request {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return r
	}
	var committed *httptest.ResponseRecorder
	if f.Commit {
		committed = httptest.NewRecorder()
		right(committed, again(), body, n)
	}
	if f.Wait != nil {
		select {
		case <-f.Wait:
		case <-r.Context().Done():
		}
	}
	switch {
	case f.Cut:
		s.answered(n, 0)
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	case f.Status != 0:
		s.answered(n, f.Status)
		if f.Body != "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
	case f.Answer != nil && f.Answer(w, again()):
	case committed != nil:
		maps.Copy(w.Header(), committed.Header())
		w.WriteHeader(committed.Code)
		_, _ = w.Write(committed.Body.Bytes())
	default:
		right(w, again(), body, n)
	}
}

// Granted returns the number of token requests with a grant_type, such as
// refresh_token, that brought a token.
func (s *Server) Granted(grantType string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted[grantType]
}

// Secrets returns everything that the server has issued or received that must
// not be seen by others: tokens, codes, verifiers, client secrets, assertions. A
// test can look for them in what it has logged.
func (s *Server) Secrets() []string {
	s.site.mu.Lock()
	defer s.site.mu.Unlock()
	return slices.Clone(s.secrets)
}
