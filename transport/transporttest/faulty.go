package transporttest

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A FaultKind is a way in which a connection misbehaves.
type FaultKind int

const (
	// FaultDelay holds a request back for Fault.Delay before the server gets it.
	// On a stream what comes behind it waits too. The call must end with its
	// context.
	FaultDelay FaultKind = iota + 1
	// FaultRefuse keeps a request from the server. Over HTTP it is answered with
	// Fault.Status, and the error's outcome is what that status means. A stream
	// ends, and the outcome is unknown.
	FaultRefuse
	// FaultDrop lets the server run a request and ends the connection instead of
	// the answer: the outcome is unknown, and the call must not be repeated.
	FaultDrop
	// FaultCut passes Fault.Bytes of the answer and then ends the connection:
	// the outcome is unknown.
	FaultCut
	// FaultDuplicate passes the answer twice. Where messages are framed the
	// second must be ignored; a JSON body becomes one that cannot be read, and
	// the outcome is that the server answered.
	FaultDuplicate
	// FaultGarbage passes something that is no message before the answer. Where
	// messages are framed it must be skipped; a JSON body becomes one that
	// cannot be read.
	FaultGarbage
	// FaultSlice passes the answer byte by byte. It must do no harm.
	FaultSlice
)

// A Fault says what happens to which requests of the client.
type Fault struct {
	// Kind is what happens.
	Kind FaultKind
	// Method is the method of the requests that it happens to, such as
	// "tools/call". Empty means every request.
	Method string
	// Nth is which of these requests it happens to, counted from 1 over all
	// connections. Zero means each.
	Nth int
	// Delay is for how long FaultDelay holds a request back.
	Delay time.Duration
	// Bytes is how much of the answer FaultCut passes: of the line, of the event,
	// or of the body. An answer that is shorter is cut before its last byte.
	Bytes int
	// Status is the HTTP status of FaultRefuse. Default: 503.
	Status int
}

// Faulty returns a copy of tr, a recipe of package transport, whose connections
// have the faults. They are done to the bytes, below the connection's own code.
// If several faults fit a request, the first is taken.
//
// For a *transport.Command a *transport.Pipe comes back, at whose other end the program runs
// with the environment of the test. Of the recipe, Path, Args, Env and Dir count.
//
// The test fails at once if tr is another transport.
func Faulty(t testing.TB, tr mcp.Transport, faults ...Fault) mcp.Transport {
	t.Helper()
	for _, f := range faults {
		if f.Kind < FaultDelay || f.Kind > FaultSlice || f.Nth < 0 || f.Bytes < 0 {
			t.Fatalf("transporttest.Faulty: %+v is no fault", f)
		}
	}
	s := &striker{faults: faults, counts: make([]int, len(faults)), waiting: map[string]Fault{}}
	switch tr := tr.(type) {
	case *transport.HTTP:
		own := *tr
		own.RoundTripper = s.tripper(t, tr.RoundTripper)
		return &own
	case *transport.SSE:
		own := *tr
		own.RoundTripper = s.tripper(t, tr.RoundTripper)
		return &own
	case *transport.Auto:
		own := *tr
		own.RoundTripper = s.tripper(t, tr.RoundTripper)
		return &own
	case *transport.Pipe:
		own := *tr
		own.Serve = s.serve(tr.Serve)
		return &own
	case *transport.Command:
		return &transport.Pipe{Serve: s.serve(program(tr))}
	}
	t.Fatalf("transporttest.Faulty: a %T has no place for faults; use a recipe of package transport", tr)
	return nil
}

// A striker decides which requests the faults happen to, and remembers until
// the answer comes.
type striker struct {
	faults []Fault

	mu      sync.Mutex
	counts  []int            // of the requests that each fault fits
	waiting map[string]Fault // for the answer, by the request's id
}

// request returns the fault that happens to a message of the client, and the
// message's id. A fault of the answer is remembered.
func (s *striker) request(message []byte) (f Fault, id string) {
	m, err := jsonscan.Scan(message)
	if err != nil || m.Method == "" || m.ID == nil {
		return Fault{}, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for i, candidate := range s.faults {
		if candidate.Method != "" && candidate.Method != m.Method {
			continue
		}
		s.counts[i]++
		if !found && (candidate.Nth == 0 || candidate.Nth == s.counts[i]) {
			f, found = candidate, true
		}
	}
	if f.Kind > FaultRefuse {
		s.waiting[string(m.ID)] = f
	}
	return f, string(m.ID)
}

// answer returns the fault that happens to a message of the server. Each
// happens once.
func (s *striker) answer(message []byte) Fault {
	m, err := jsonscan.Scan(message)
	if err != nil || !m.IsResponse() {
		return Fault{}
	}
	return s.take(string(m.ID))
}

func (s *striker) take(id string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.waiting[id]
	delete(s.waiting, id)
	return f
}

// A damaged answer is what is left of one.
type damaged struct {
	bytes  []byte
	sliced bool // one byte at a time
	over   bool // and then the connection ends
}

// damage does what the fault does to an answer. noise is what can stand before
// an answer there.
func (f Fault) damage(answer []byte, noise string) damaged {
	switch f.Kind {
	case FaultDrop:
		return damaged{over: true}
	case FaultCut:
		return damaged{bytes: answer[:min(f.Bytes, max(0, len(answer)-1))], over: true}
	case FaultDuplicate:
		return damaged{bytes: fmt.Appendf(nil, "%s%s", answer, answer)}
	case FaultGarbage:
		return damaged{bytes: fmt.Appendf(nil, "%s%s", noise, answer)}
	}
	return damaged{bytes: answer, sliced: f.Kind == FaultSlice}
}

// tripper returns the round tripper that has the faults, over base or one of its
// own.
func (s *striker) tripper(t testing.TB, base http.RoundTripper) http.RoundTripper {
	if base == nil {
		own := &http.Transport{Proxy: http.ProxyFromEnvironment}
		t.Cleanup(own.CloseIdleConnections)
		base = own
	}
	return &faultyTripper{s, base}
}
