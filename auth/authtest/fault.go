package authtest

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

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
	// Code is the error code of that answer.
	Code string
	// RetryAfter is sent with it, in full seconds, if it is not zero.
	RetryAfter time.Duration
	// Body takes the place of the answer's document.
	Body string
}

// Fail makes something go wrong with the next n requests to an endpoint, or with
// all if n is negative. It takes the place of what an earlier Fail has left for
// that endpoint; n = 0 ends it.
func (s *Server) Fail(e Endpoint, n int, f Fault) { s.faults.set(e, n, f) }

// faults are those that are still to come.
type faults struct {
	mu   sync.Mutex // guards next
	next map[Endpoint]*pendingFault
}

type pendingFault struct {
	fault Fault
	left  int // negative: without end
}

func (q *faults) set(e Endpoint, n int, f Fault) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == nil {
		q.next = map[Endpoint]*pendingFault{}
	}
	q.next[e] = &pendingFault{fault: f, left: n}
}

func (q *faults) take(e Endpoint) Fault {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.next[e]
	if p == nil || p.left == 0 {
		return Fault{}
	}
	if p.left > 0 {
		p.left--
	}
	return p.fault
}

// apply answers a request with the fault that is next for it. right answers
// rightly.
func (q *faults) apply(e Endpoint, w http.ResponseWriter, r *http.Request, right http.HandlerFunc) {
	f := q.take(e)
	var committed *httptest.ResponseRecorder
	if f.Commit {
		committed = httptest.NewRecorder()
		right(committed, r)
	}
	if f.Wait != nil {
		select {
		case <-f.Wait:
		case <-r.Context().Done():
		}
	}
	switch {
	case f.Cut:
		cut(w)
	case f.Status != 0:
		f.answer(w)
	case committed != nil:
		for name, values := range committed.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(committed.Code)
		_, _ = w.Write(committed.Body.Bytes())
	default:
		right(w, r)
	}
}

func (f *Fault) answer(w http.ResponseWriter) {
	if f.RetryAfter != 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds())))
	}
	switch {
	case f.Body != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
	case f.Code != "":
		writeJSON(w, f.Status, map[string]any{"error": f.Code})
	default:
		w.WriteHeader(f.Status)
	}
}

// cut closes the connection of a request.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
