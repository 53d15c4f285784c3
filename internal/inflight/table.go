// Package inflight matches answers to the requests that wait for them.
//
// A [Table] numbers the requests of one connection, from [FirstID] upward so
// that they never meet the small numbers of a program that writes requests of its own
// on the same connection, and keeps each until its answer came. The goroutine that reads
// the connection calls Answer, Progress and Fail, none of which blocks; each
// waiting caller runs its own progress callbacks, so progress arrives in order
// and before the answer, and a slow callback delays no other caller.
package inflight

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// FirstID is the id of a table's first request. It leaves room below for
// the ids of others, and above it more than a billion requests still fit the
// 32-bit integers and doubles that some servers use for ids.
const FirstID = 1_000_000_000

// maxFree bounds the calls that a table keeps to be used again.
const maxFree = 64

// maxProgress bounds the progress notifications that wait for a slow callback;
// when more arrive the oldest are dropped, since the newest says the most.
const maxProgress = 256

// maxProgressBytes bounds each of them. Larger ones are dropped.
const maxProgressBytes = 64 << 10

// An Answer is the result or the error of a request, as sent by the server.
// Exactly one of the two is set.
type Answer struct {
	Result json.RawMessage
	Error  json.RawMessage
	// Flaw, if not nil, says why Result is acceptable only as a list, of which
	// each element has to be checked by itself.
	Flaw error
}

// A Table holds the requests in flight on one connection. The zero value is
// ready for use. It is safe for concurrent use.
type Table struct {
	mu     sync.Mutex
	last   int64 // requests numbered so far
	calls  map[int64]*Call
	tokens map[int64]*Call
	open   int     // calls that have not ended
	free   []*Call // dropped, to be used again
	err    error
}

// A Call is one request in flight.
type Call struct {
	ID int64

	table    *Table
	token    int64
	wake     chan struct{} // capacity 1: something below changed
	signal   func()        // fills wake
	progress []json.RawMessage
	answer   Answer
	err      error
	ended    bool
}

// Begin numbers a request. Progress notifications with the given token go to
// it; a zero token asks for none. It fails with the error of [Table.Fail] once
// that was called.
func (t *Table) Begin(token int64) (*Call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	if t.calls == nil {
		t.calls = make(map[int64]*Call)
		t.tokens = make(map[int64]*Call)
	}
	c := t.spare()
	c.ID, c.token = FirstID+t.last, token
	t.last++
	t.calls[c.ID] = c
	t.open++
	if token != 0 {
		t.tokens[token] = c
	}
	return c, nil
}

func (t *Table) spare() *Call {
	if last := len(t.free) - 1; last >= 0 {
		c := t.free[last]
		t.free = t.free[:last]
		return c
	}
	c := &Call{table: t, wake: make(chan struct{}, 1)}
	c.signal = func() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return c
}

// Answer hands an answer to the request with the given id, as it stands in the
// message. It reports whether the id is one of this table's, waiting or late.
func (t *Table) Answer(id []byte, a Answer) bool {
	n, ok := number(id)
	if !ok {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < FirstID || n >= FirstID+t.last {
		return false
	}
	if c := t.calls[n]; c != nil {
		c.finish(a, nil)
	}
	return true
}

// Progress hands the params of a progress notification to the request that
// asked for it. It reports whether there is one.
func (t *Table) Progress(params []byte) bool {
	token := tokenOf(params)
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.tokens[token]
	if c == nil || c.ended {
		return false
	}
	if len(params) > maxProgressBytes {
		return true
	}
	if len(c.progress) == maxProgress {
		c.progress = append(c.progress[:0], c.progress[1:]...)
	}
	c.progress = append(c.progress, params)
	c.signal()
	return true
}

// tokenOf returns the token of a progress notification, given its params; 0 if it
// is none of a client that counts its tokens.
func tokenOf(params []byte) int64 {
	token, _ := number(jsonscan.Member(params, "progressToken"))
	return token
}

// FailOne ends the request with the given id, if it waits, with err.
func (t *Table) FailOne(id int64, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[id]
	if c == nil {
		return false
	}
	c.finish(Answer{}, err)
	return true
}

// Idle reports whether no request waits for its end.
func (t *Table) Idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open == 0
}

// IDs returns the ids of the requests in flight.
func (t *Table) IDs() []int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.calls))
}

// Fail ends every request in flight with an error, and every later one with another. Only
// the first call counts.
func (t *Table) Fail(inFlight, later error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	t.err = later
	for _, c := range t.calls {
		c.finish(Answer{}, inFlight)
	}
}

// A Hooked context runs one function when it ends, as context.AfterFunc does for
// any, but for no memory. The contexts of an mcp.Client's calls are such.
type Hooked interface {
	// Hook makes f be called when the context ends, unless it ends with that of its
	// caller, which Hook returns. Unhook ends that; f may still be called.
	Hook(f func()) (caller context.Context)
	Unhook()
}

// Wait returns the answer, or the error that ended the request, or ctx's error.
// It calls progress with what arrives before that; a nil progress is skipped.
func (c *Call) Wait(ctx context.Context, progress func(json.RawMessage)) (Answer, error) {
	waits := ctx
	if own, ok := ctx.(Hooked); ok {
		waits = own.Hook(c.signal)
		defer own.Unhook()
	}
	for {
		select {
		case <-c.wake:
		case <-waits.Done():
		}
		if answer, ended, err := c.Poll(progress); ended {
			return answer, err
		}
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
	}
}

// Poll is Wait without waiting: it delivers the progress that has arrived and
// reports whether the request has ended.
func (c *Call) Poll(progress func(json.RawMessage)) (a Answer, ended bool, err error) {
	c.table.mu.Lock()
	arrived := c.progress
	a, ended, err = c.answer, c.ended, c.err
	c.progress = nil
	c.table.mu.Unlock()
	if progress != nil {
		for _, p := range arrived {
			progress(p)
		}
	}
	return a, ended, err
}

// Drop forgets the request; an answer that comes later is ignored. Every Begin
// is followed by one Drop, after which the call must not be used any more.
func (c *Call) Drop() {
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, c.ID)
	if !c.ended {
		t.open--
	}
	if c.token != 0 {
		delete(t.tokens, c.token)
	}
	if len(t.free) == maxFree {
		return
	}
	select {
	case <-c.wake:
	default:
	}
	c.progress, c.answer, c.err, c.ended = nil, Answer{}, nil, false
	t.free = append(t.free, c)
}

// finish is called with the table's lock held.
func (c *Call) finish(a Answer, err error) {
	if c.ended {
		return
	}
	c.answer, c.err, c.ended = a, err, true
	c.table.open--
	c.signal()
}

// number reads an id or token that is an integer, however written: 1e9 and 1.0
// come from servers whose only numbers are floating. Servers that turn every id
// into text send a string.
func number(value []byte) (int64, bool) {
	if n, ok := digits(value); ok {
		return n, true
	}
	text := string(value)
	if s, ok := jsonscan.String(value); ok {
		text = s
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	const exact = 1 << 53 // above, a float64 does not tell integers apart
	f, err := strconv.ParseFloat(text, 64)
	n := int64(f)
	return n, err == nil && f > -exact && f < exact && float64(n) == f
}

// digits reads the usual spelling, without a copy.
func digits(value []byte) (n int64, ok bool) {
	const most = 18 // of which any fit an int64
	if len(value) == 0 || len(value) > most {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}
