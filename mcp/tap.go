package mcp

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A tap sits between a transport's connection and the SDK's session. It answers
// a probe that the server leaves unanswered, keeps the reason for which the
// connection ended, and lends a data plane to connections without one.
//
// It owns one goroutine, which reads the connection until it ends, and the one
// that closes the connection.
type tap struct {
	client  *Client
	tracing *tracing // the client's
	conn    *guard
	patient time.Duration // for the answer to the probe

	messages chan jsonrpc.Message // on their way to the session
	closed   chan struct{}        // closed by Close
	shut     chan struct{}        // closed when the connection's Close has returned
	ended    chan struct{}        // closed when the connection cannot be read any more
	err      error                // why; read after ended is closed
	ours     bool                 // because of Close; read after ended is closed
	reading  context.Context
	stop     context.CancelFunc
	once     sync.Once
	wg       sync.WaitGroup         // the reader, and what goes started
	table    inflight.Table         // requests of the lent data plane
	changes  atomic.Int64           // announcements of other tools
	listed   atomic.Int64           // of those, how many the list of tools takes account of
	mended   atomic.Int64           // times that announcements may have been missed
	reported atomic.Int64           // notifications of progress that belong to no request
	life     atomic.Pointer[life]   // nil during the handshake
	modern   atomic.Bool            // revision 2026-07-28 is spoken
	spoken   atomic.Pointer[string] // the revision; nil during the handshake

	allowance allowance

	mu      sync.Mutex // guards the following, and orders wg.Add before wg.Wait
	waited  bool       // wait was called
	probe   jsonrpc.ID
	sent    bool // the probe was sent
	timer   *time.Timer
	overdue bool  // the probe was answered in the server's place
	late    bool  // and the server answered it after all, with a result
	settled bool  // the probe was answered in time
	refused error // by a server that must not be initialized
	unsent  error // why the first message that was not sent was not

	greeting       jsonrpc.ID      // of the handshake's request
	greetingResult json.RawMessage // what was answered to it
	greetingTrace  *openTrace      // of it

	serving  map[jsonrpc.ID]*service // requests of the server
	granting int                     // wishes of the server under way
	granted  time.Time               // when the last one ended

	listener *listener // nil if the server announces nothing, or in its own way
}

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	noteCancelled    = "notifications/cancelled"
)

func newTap(c *Client, conn Conn, patience time.Duration) *tap {
	reading, stop := context.WithCancel(context.Background())
	t := &tap{
		client:   c,
		tracing:  c.tracing,
		conn:     c.guard(conn),
		patient:  patience,
		serving:  make(map[jsonrpc.ID]*service),
		messages: make(chan jsonrpc.Message),
		closed:   make(chan struct{}),
		shut:     make(chan struct{}),
		ended:    make(chan struct{}),
		reading:  reading,
		stop:     stop,
	}
	t.wg.Go(t.readAll)
	return t
}

func (t *tap) readAll() {
	for {
		m, err := t.conn.Read(t.reading)
		if err == nil && t.echoes(m) {
			err = echoError{}
		}
		if err != nil {
			t.err = err
			select {
			case <-t.closed:
				t.ours = true
			default:
			}
			close(t.ended) // before callers are told, who look whether it is over
			t.greetingEnds(nil, nil, err)
			t.table.Fail(err, func(int64) error { return WithOutcome(err, Unknown) })
			return
		}
		if l := t.life.Load(); l != nil {
			l.pulse.beat()
		}
		if t.takes(m) {
			continue
		}
		select {
		case t.messages <- m:
		case <-t.closed:
		}
	}
}

// goes runs f on a goroutine that wait waits for. It does nothing, and reports
// so, once wait was called.
func (t *tap) goes(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waited {
		return false
	}
	t.wg.Go(f)
	return true
}

// wait waits for the goroutines of the tap, after Close.
func (t *tap) wait() {
	t.mu.Lock()
	t.waited = true
	t.mu.Unlock()
	t.wg.Wait()
}

// takesProbe notes an answer to the probe and swallows one that comes late.
func (t *tap) takesProbe(m *jsonrpc.Response) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sent || m.ID != t.probe {
		return false
	}
	t.timer.Stop()
	if t.overdue {
		t.late = m.Error == nil
		return true
	}
	t.settled = true
	if t.refused = modernRefusal(m.Error); m.Error == nil {
		t.refused = discoveredNone(m.Result)
	}
	return false
}

func (t *tap) takesAnswer(m *jsonrpc.Response) bool {
	id, err := json.Marshal(m.ID.Raw())
	if err != nil {
		return false
	}
	if m.Error == nil {
		return t.table.Answer(id, inflight.Answer{Result: m.Result})
	}
	answer, err := json.Marshal(m.Error)
	if err != nil {
		return false
	}
	return t.table.Answer(id, inflight.Answer{Error: answer})
}

// probed reports whether the probe was sent and never answered in time, and
// whether the server answered it with a result later.
func (t *tap) probed() (unanswered, late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent && !t.settled, t.late
}

// Read implements Conn for the session.
func (t *tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-t.messages:
		return m, nil
	case <-t.ended:
		return nil, t.err
	case <-t.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements Conn for the session.
func (t *tap) Write(ctx context.Context, m jsonrpc.Message) error {
	req, ok := m.(*jsonrpc.Request)
	if ok && req.Method == noteCancelled && t.life.Load() == nil {
		return nil // no request of the handshake is cancelled: the connection is closed
	}
	probing := ok && req.Method == methodDiscover
	if probing {
		t.watchProbe(req.ID)
		m = t.client.probe(req)
	}
	if ok && (req.Method == methodInitialize || probing) {
		t.mu.Lock()
		t.greeting = req.ID
		t.mu.Unlock()
	}
	err := t.mayWrite(req)
	if err == nil {
		err = t.writeTraced(ctx, m)
	}
	if err != nil {
		t.failedToWrite(err, probing)
	}
	return err
}

// mayWrite returns why a request, which may be nil, must not be written. After
// any error of the probe the session goes on to initialize; not every server is
// an old one because of that.
func (t *tap) mayWrite(req *jsonrpc.Request) error {
	if req == nil || req.Method != methodInitialize {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

func (t *tap) failedToWrite(err error, probing bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closed: // no wonder
	default:
		if t.unsent == nil {
			t.unsent = err
		}
	}
	if probing && SafeToRetry(err) {
		t.timer.Stop()
		t.sent = false
	}
}

// blame returns what is behind an error of the handshake: the session only
// knows that the connection ended, and tells of it in words.
func (t *tap) blame(err error) error {
	if cause := t.died(); cause != nil {
		return cause
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unsent != nil {
		return t.unsent
	}
	return err
}

// watchProbe answers the probe as a server of an older revision would, if the
// server does not answer it in time, so that the session goes on to initialize.
func (t *tap) watchProbe(id jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.probe, t.sent, t.settled, t.overdue, t.refused = id, true, false, false, nil
	t.timer = time.AfterFunc(t.patient, func() { t.goes(func() { t.answerProbe(id) }) })
}

func (t *tap) answerProbe(id jsonrpc.ID) {
	t.mu.Lock()
	if t.settled || !t.sent || t.probe != id {
		t.mu.Unlock()
		return
	}
	t.overdue = true
	t.mu.Unlock()
	t.greetingEnds(&id, nil, &TimeoutError{"idle", t.patient})
	answer := &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer in time"}}
	select {
	case t.messages <- answer:
	case <-t.ended:
	case <-t.closed:
	}
}

// Close implements Conn for the session. It does not wait for the connection to
// close, which may take seconds: the session holds a lock meanwhile.
func (t *tap) Close() error {
	t.once.Do(func() {
		close(t.closed)
		t.mu.Lock()
		if t.timer != nil {
			t.timer.Stop()
		}
		t.mu.Unlock()
		go func() {
			defer close(t.shut)
			_ = t.conn.Close()
			t.stop()
		}()
	})
	return nil
}

// finish closes the connection, as long as that takes.
func (t *tap) finish() {
	_ = t.Close()
	<-t.shut
}

// SessionID implements Conn.
func (t *tap) SessionID() string { return t.conn.SessionID() }

// died returns why the connection ended if that was not by Close, or nil.
func (t *tap) died() error {
	select {
	case <-t.ended:
		if !t.ours {
			return t.err
		}
	default:
	}
	return nil
}

// over reports whether the connection has ended, even if the reader has not
// seen it yet.
func (t *tap) over() bool {
	select {
	case <-t.ended:
		return true
	default:
	}
	return t.conn.Err() != nil
}

// announced returns how often the server has announced other tools before what
// it has answered.
func (t *tap) announced() int64 {
	if n := t.conn.Announced(); n >= 0 {
		return n // with a data plane of its own answers do not pass here
	}
	return t.changes.Load()
}

// caller returns the connection's data plane, or one on top of its messages.
func (t *tap) caller() Caller {
	if c, ok := t.conn.Connection.(Caller); ok {
		return c
	}
	return (*lentCaller)(t)
}

// cancelTimeout bounds the telling of a server that a request is cancelled.
const cancelTimeout = 5 * time.Second

// A lentCaller is a data plane over the messages of a connection that has none.
type lentCaller tap

// Call implements Caller.
func (l *lentCaller) Call(ctx context.Context, method string, params json.RawMessage, opts *CallOptions) (json.RawMessage, error) {
	if opts == nil {
		opts = &CallOptions{}
	}
	call, err := l.table.Begin(opts.ProgressToken)
	if err != nil {
		return nil, WithOutcome(err, NotSent)
	}
	defer call.Drop()
	if opts.Numbered != nil {
		opts.Numbered(call.ID)
	}
	id, err := jsonrpc.MakeID(float64(call.ID))
	if err != nil {
		return nil, WithOutcome(err, NotSent)
	}
	if err := l.write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params}); err != nil {
		if ctx.Err() != nil && !SafeToRetry(err) {
			l.cancel(call.ID)
		}
		return nil, err
	}
	answer, err := call.Wait(ctx, opts.Progress)
	if err != nil {
		if ctx.Err() != nil {
			l.cancel(call.ID)
		}
		return nil, err
	}
	if answer.Error == nil {
		// Nobody has looked at these bytes as closely as what decodes them
		// expects, unlike on a data plane of the connection's own.
		if err := jsonscan.Valid(answer.Result); err != nil && !(listsItems(method) && jsonscan.ValidLists(answer.Result)) {
			return nil, &ProtocolError{Path: "result", Err: err}
		}
		return answer.Result, nil
	}
	var refused JSONRPCError
	if err := json.Unmarshal(answer.Error, &refused); err != nil {
		return nil, &ProtocolError{Path: "error", Err: err}
	}
	return nil, &refused
}

// write does not wait for a connection that goes on writing after ctx has ended.
func (l *lentCaller) write(ctx context.Context, m *jsonrpc.Request) error {
	written := make(chan error, 1)
	if !(*tap)(l).goes(func() { written <- l.conn.Write(ctx, m) }) {
		return WithOutcome(errEnded, NotSent)
	}
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lentCaller) cancel(id int64) {
	params, _ := json.Marshal(map[string]any{"requestId": id, "reason": "the caller gave up"})
	(*tap)(l).goes(func() {
		ctx, stop := context.WithTimeout(l.reading, cancelTimeout)
		defer stop()
		_ = l.conn.Write(ctx, &jsonrpc.Request{Method: noteCancelled, Params: params})
	})
}
