package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A tap reads what the server sends unasked, its requests and notifications, makes the
// handshake, keeps the reason for which the connection ended, and lends a data plane to
// connections without one.
//
// It owns one goroutine, which reads the connection until it ends.
type tap struct {
	client  *Client
	tracing *tracing // the client's
	conn    *guard

	closed   chan struct{} // closed by finish
	ended    chan struct{} // closed when the connection cannot be read any more
	err      error         // why; read after ended is closed
	ours     bool          // because of finish; read after ended is closed
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

	handshaking atomic.Int64 // id of the handshake's last request

	// The following belong to the handshake.
	unanswered bool // discover was sent and not answered in time
	late       bool // but with a result later

	allowance allowance

	mu     sync.Mutex // guards the following, and orders wg.Add before wg.Wait
	waited bool       // wait was called

	serving  map[jsonrpc.ID]*service // requests of the server
	granting int                     // wishes of the server under way
	granted  time.Time               // when the last one ended

	listener *listener // nil if the server announces nothing, or in its own way
}

func newTap(c *Client, conn Conn) *tap {
	reading, stop := context.WithCancel(context.Background())
	t := &tap{
		client:  c,
		tracing: c.tracing,
		conn:    c.guard(conn),
		serving: make(map[jsonrpc.ID]*service),
		closed:  make(chan struct{}),
		ended:   make(chan struct{}),
		reading: reading,
		stop:    stop,
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
			t.table.Fail(err, func(int64) error { return WithOutcome(err, Unknown) })
			return
		}
		if l := t.life.Load(); l != nil {
			l.pulse.beat()
		}
		t.take(m)
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

// wait waits for the goroutines of the tap, after finish.
func (t *tap) wait() {
	t.mu.Lock()
	t.waited = true
	t.mu.Unlock()
	t.wg.Wait()
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

// blame returns what is behind an error of the handshake: if the connection ended, why.
func (t *tap) blame(ctx context.Context, err error) error {
	if t.conn.Err() != nil {
		select {
		case <-t.ended: // soon
		case <-ctx.Done():
		}
	}
	return cmp.Or(t.died(), err)
}

// finish closes the connection, as long as that takes.
func (t *tap) finish() {
	t.once.Do(func() {
		close(t.closed)
		_ = t.conn.Close()
		t.stop()
	})
}

// died returns why the connection ended if that was not by finish, or nil.
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
			l.cancel(method, call.ID)
		}
		return nil, err
	}
	answer, err := call.Wait(ctx, opts.Progress)
	if err != nil {
		if ctx.Err() != nil {
			l.cancel(method, call.ID)
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

// cancel tells the server that nobody waits for a request any more. One of the handshake
// must not be canceled.
func (l *lentCaller) cancel(method string, id int64) {
	if method == methodInitialize || method == methodDiscover {
		return
	}
	params, _ := json.Marshal(map[string]any{"requestId": id, "reason": "the caller gave up"})
	(*tap)(l).goes(func() {
		ctx, stop := context.WithTimeout(l.reading, cancelTimeout)
		defer stop()
		_ = l.conn.Write(ctx, &jsonrpc.Request{Method: noteCancelled, Params: params})
	})
}
