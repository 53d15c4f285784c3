package cassette

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Options are those of [Record] and [Replay]. A recording is replayed with the options
// that it was made with.
type Options struct {
	// Redact may replace a string before it is written to the file or compared
	// with it, after the rules of [Recorder] were applied. Key is that of the
	// innermost object member that the string belongs to, or empty. Redact must
	// leave what it has returned itself as it is, and be safe for concurrent
	// use. Default: no further rule.
	Redact func(key, value string) string
}

func newRedactor(opts *Options) *redactor { return &redactor{cmp.Or(opts, new(Options)).Redact} }

// A Recorder is a transport that keeps what passes over the connections of another:
// what the client sent and how the server answered, what the server sent by itself,
// and how connections failed. Save writes it to a file. A Recorder can be used
// concurrently.
//
// Ids, times and _meta of requests are not kept, and secrets are replaced by
// "[redacted]" before they are: the strings and numbers in members whose key looks
// like that of a secret (token, password, api_key, session and the like), and
// credentials anywhere in a text, such as bearer tokens, keys of well-known services,
// and passwords in URLs. That cannot find everything: look at a file before you share
// it.
type Recorder struct {
	transport mcp.Transport
	redactor  *redactor

	mu     sync.Mutex // guards the following, and all that the tracks hold
	tracks []*track
	broken error // the first message that cannot be recorded
}

// Record returns a transport that connects by tr and records what passes. Opts may be
// nil.
func Record(tr mcp.Transport, opts *Options) *Recorder {
	return &Recorder{transport: tr, redactor: newRedactor(opts)}
}

// Save writes what was recorded so far to a file, for [Replay]. The file is JSON to be
// read, reviewed and committed. It is replaced as a whole, and left as it is if Save
// fails. It holds what servers have answered, so only its owner may read it. Save makes the
// folders that it needs, and can be called more than once.
func (r *Recorder) Save(file string) error {
	r.mu.Lock()
	err := r.broken
	var data []byte
	if err == nil {
		data, err = (&recording{version, r.tracks}).encode()
	}
	r.mu.Unlock()
	if err == nil {
		_, err = parse(file, data) // so that no file is written that cannot be read
	}
	if err == nil {
		err = writeWhole(file, data)
	}
	if err != nil {
		return fmt.Errorf("cassette: save %s: %w", file, err)
	}
	return nil
}

// writeWhole writes a file so that others see all of it or what was there.
func writeWhole(file string, data []byte) error {
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

var errNoTransport = errors.New("cassette: Record was given no transport")

// Connect implements [mcp.Transport].
func (r *Recorder) Connect(ctx context.Context) (mcp.Conn, error) {
	if nils.Is(r.transport) {
		return nil, mcp.WithOutcome(errNoTransport, mcp.NotSent)
	}
	t := &track{}
	r.mu.Lock()
	r.tracks = append(r.tracks, t) // now, for the order of those made at once
	r.mu.Unlock()
	conn, err := r.transport.Connect(ctx)
	if err != nil {
		r.mu.Lock()
		t.Refused = r.failure(err)
		r.mu.Unlock()
		return nil, err
	}
	return &recordedConn{
		Caller:   mcp.CallerOf(conn),
		recorder: r,
		track:    t,
		last:     &t.Opening,
		open:     map[jsonrpc.ID]*turn{},
		asked:    map[jsonrpc.ID]*aside{},
	}, nil
}

// clean returns a part of a message as it is written. The Recorder is locked.
func (r *Recorder) clean(method string, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if err := jsonscan.Valid(raw); err != nil {
		if r.broken == nil {
			r.broken = fmt.Errorf("%s: %w", method, err)
		}
		return json.RawMessage("null")
	}
	return r.redactor.json(raw)
}

// refusal returns an error that one side answered with. The Recorder is locked.
func (r *Recorder) refusal(method string, err error) json.RawMessage {
	refused, ok := errors.AsType[*mcp.JSONRPCError](err)
	if !ok {
		refused = &mcp.JSONRPCError{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	raw := fmt.Appendf(nil, `{"code":%d,"message":%s`, refused.Code, canonjson.AppendString(nil, refused.Message))
	if len(refused.Data) > 0 {
		raw = fmt.Appendf(raw, `,"data":%s`, refused.Data)
	}
	return r.clean(method, append(raw, '}'))
}

func (r *Recorder) failure(err error) *failure {
	f := newFailure(err)
	f.Message = r.reason(f.Message)
	return f
}

// reason returns the text of an error as it is written.
func (r *Recorder) reason(text string) string {
	return localPort.ReplaceAllString((&pass{rule: r.redactor.rule}).plain(text, scope{}), "$1")
}

// A recordedConn is a connection whose calls and other messages are kept.
type recordedConn struct {
	mcp.Caller
	recorder *Recorder

	// The following are guarded by the recorder.
	track  *track
	last   *[]*aside            // where what the server sends next belongs
	open   map[jsonrpc.ID]*turn // requests that were written and have no answer yet
	asked  map[jsonrpc.ID]*aside
	closed bool // by the client
	ended  bool // not by the client, and noted
}

// Receive implements [mcp.Caller].
func (c *recordedConn) Receive(message func(jsonrpc.Message, int64), ended func(error)) {
	c.Caller.Receive(func(m jsonrpc.Message, call int64) {
		c.received(m)
		message(m, call)
	}, func(err error) {
		c.lost(err)
		ended(err)
	})
}

// Close implements [mcp.Conn].
func (c *recordedConn) Close() error {
	c.recorder.mu.Lock()
	c.closed = true
	c.recorder.mu.Unlock()
	return c.Caller.Close()
}

// Call implements mcp.Caller.
func (c *recordedConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	t := c.begin(true, method, params)
	o := *cmp.Or(opts, new(mcp.CallOptions))
	o.Progress = func(params json.RawMessage) {
		c.recorder.mu.Lock()
		clean := c.recorder.clean(protocol.NoteProgress, params)
		t.During = append(t.During, &aside{Progress: canonjson.Without(clean, "progressToken")})
		c.recorder.mu.Unlock()
		if opts != nil && opts.Progress != nil {
			opts.Progress(params)
		}
	}
	result, err := c.Caller.Call(ctx, method, params, &o)
	if err != nil {
		c.failed(ctx, t, err, c.Info().Err)
		return nil, err
	}
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	c.answered(t, result, nil)
	return result, nil
}

// received keeps a message of the server.
func (c *recordedConn) received(m jsonrpc.Message) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Response:
		if t := c.open[m.ID]; t != nil {
			delete(c.open, m.ID)
			c.answered(t, m.Result, m.Error)
		}
	case *jsonrpc.Request:
		c.heard(m)
	}
}

// end notes in list that the connection ended.
func (c *recordedConn) end(list *[]*aside, err error) {
	c.ended = true
	*list = append(*list, &aside{End: new(c.recorder.reason(err.Error()))})
}

// heard keeps a message that the server sent by itself.
func (c *recordedConn) heard(m *jsonrpc.Request) {
	a := &aside{Params: c.recorder.clean(m.Method, m.Params)}
	if m.IsCall() {
		a.Request = m.Method
		c.asked[m.ID] = a
	} else {
		a.Notification = m.Method
	}
	*c.last = append(*c.last, a)
}

// begin keeps a message that the client is about to send.
func (c *recordedConn) begin(request bool, method string, params json.RawMessage) *turn {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	t := &turn{Params: canonjson.Without(c.recorder.clean(method, params), "_meta")}
	c.track.Turns = append(c.track.Turns, t)
	if request {
		t.Request, c.last = method, &t.During
	} else {
		t.Notification, c.last = method, &t.After
	}
	return t
}

// answered keeps how the server answered.
func (c *recordedConn) answered(t *turn, result json.RawMessage, err error) {
	c.last = &t.After
	if err != nil {
		t.Error = c.recorder.refusal(t.Request, err)
		return
	}
	if t.Result = c.recorder.clean(t.Request, result); t.Result == nil {
		t.Result = json.RawMessage("null")
	}
}

// failed keeps why a request got no answer. One that the client gave up is left
// as it is, or forgotten if the server never heard of it.
func (c *recordedConn) failed(ctx context.Context, t *turn, err, over error) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	switch {
	case errors.As(err, new(*mcp.JSONRPCError)):
		c.answered(t, nil, err)
		return
	case c.closed || ctx.Err() != nil && errors.Is(err, ctx.Err()):
		if mcp.OutcomeOf(err) == mcp.NotSent {
			c.forget(t)
		}
		return
	}
	if over != nil && !c.ended {
		c.end(&t.During, over)
	}
	end := slices.IndexFunc(t.During, func(a *aside) bool { return a.End != nil })
	if c.ended && mcp.OutcomeOf(err) == mcp.NotSent && end < 0 {
		c.forget(t) // it came to a dead connection, which another time it may not
		return
	}
	f := c.recorder.failure(err)
	if end >= 0 && *t.During[end].End == f.Message && mcp.OutcomeOf(err) == mcp.Unknown {
		return // its end says it
	}
	t.Failure = f
}

func (c *recordedConn) forget(t *turn) {
	c.track.Turns = slices.DeleteFunc(c.track.Turns, func(other *turn) bool { return other == t })
}

// Write implements [mcp.Conn].
func (c *recordedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	var t *turn
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.replied(m)
	case *jsonrpc.Request:
		if m.Method == protocol.NoteCancelled {
			break // it speaks of an id
		}
		t = c.begin(m.IsCall(), m.Method, m.Params)
		if m.IsCall() {
			c.recorder.mu.Lock()
			c.open[m.ID] = t
			c.recorder.mu.Unlock()
		}
	}
	err := c.Caller.Write(ctx, m)
	if err != nil && t != nil && t.Request != "" {
		c.failed(ctx, t, err, nil)
	}
	return err
}

// replied keeps the client's answer to a request of the server.
func (c *recordedConn) replied(m *jsonrpc.Response) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	a := c.asked[m.ID]
	if a == nil {
		return
	}
	delete(c.asked, m.ID)
	if m.Error != nil {
		a.Error = c.recorder.refusal(a.Request, m.Error)
		return
	}
	a.Result = c.recorder.clean(a.Request, m.Result)
}

// lost notes that the connection has ended, unless the client has closed it.
func (c *recordedConn) lost(err error) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	if !c.closed && !c.ended {
		c.end(c.last, err)
	}
}
