package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// errEnded ends a connection for want of a better reason.
var errEnded = errors.New("the connection ended")

// cancelTimeout bounds the telling of a server that a request is cancelled.
const cancelTimeout = 5 * time.Second

// CallerOf returns conn if it is a [Caller], and else one over its messages, such as for
// the connections of the official SDK's transports. Its Info is that of a method Info()
// [ConnInfo] of conn, if there is one. It is nil if conn is.
func CallerOf(conn Conn) Caller {
	if nils.Is(conn) {
		return nil
	}
	if c, ok := conn.(Caller); ok {
		return c
	}
	f := &foreignCaller{Conn: conn}
	f.reading, f.stop = context.WithCancel(context.Background())
	return f
}

// A foreignCaller is a Caller over the messages of a connection that is none. It owns a
// goroutine that reads from Receive to the end, and those that write.
type foreignCaller struct {
	Conn
	table   inflight.Table
	reading context.Context
	stop    context.CancelFunc
	signs   atomic.Uint64 // messages read

	goroutines
	mu  sync.Mutex // guards err
	err error      // why reading has ended
}

// Receive implements [Caller].
func (c *foreignCaller) Receive(message func(jsonrpc.Message, int64), ended func(error)) {
	read := func() {
		for {
			m, err := c.Conn.Read(c.reading)
			if err == nil && nils.Is(m) {
				err = errors.New("the connection returned neither a message nor an error")
			}
			if err != nil {
				c.mu.Lock()
				c.err = err
				c.mu.Unlock()
				ended(err)
				c.table.Fail(WithOutcome(err, Unknown), err)
				return
			}
			c.signs.Add(1)
			if !c.takes(m) {
				message(m, 0)
			}
		}
	}
	if !c.run(read) {
		ended(errEnded)
	}
}

// takes reports whether a message belongs to a call.
func (c *foreignCaller) takes(m jsonrpc.Message) bool {
	switch m := m.(type) {
	case *jsonrpc.Response:
		id, _ := json.Marshal(m.ID.Raw()) // null, a number or a string has no error
		if m.Error == nil {
			return c.table.Answer(id, inflight.Answer{Result: m.Result})
		}
		answer, err := json.Marshal(m.Error)
		return err == nil && c.table.Answer(id, inflight.Answer{Error: answer})
	case *jsonrpc.Request:
		return m.Method == protocol.NoteProgress && !m.IsCall() && jsonscan.Valid(m.Params) == nil && c.table.Progress(m.Params)
	}
	return false
}

// Info implements [Caller].
func (c *foreignCaller) Info() ConnInfo {
	var info ConnInfo
	if known, ok := c.Conn.(interface{ Info() ConnInfo }); ok {
		info = known.Info()
	}
	info.Signs += c.signs.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	info.Err = cmp.Or(info.Err, c.err)
	return info
}

// Call implements [Caller].
func (c *foreignCaller) Call(ctx context.Context, method string, params json.RawMessage, opts *CallOptions) (json.RawMessage, error) {
	if opts == nil {
		opts = &CallOptions{}
	}
	call, err := c.table.Begin(opts.ProgressToken)
	if err != nil {
		return nil, WithOutcome(err, NotSent)
	}
	defer call.Drop()
	if opts.Numbered != nil {
		opts.Numbered(call.ID)
	}
	id, _ := jsonrpc.MakeID(float64(call.ID)) // a number is an id
	var answer inflight.Answer
	if err = writeOn(ctx, c.run, c.Conn, &jsonrpc.Request{ID: id, Method: method, Params: params}); err == nil {
		answer, err = call.Wait(ctx, opts.Progress)
	}
	if err != nil {
		if ctx.Err() != nil && !SafeToRetry(err) {
			c.cancel(method, call.ID)
		}
		return nil, err
	}
	if answer.Error == nil {
		// These bytes were not looked at as closely as what decodes them expects.
		err := jsonscan.Valid(answer.Result)
		if err != nil { // a bad character costs no more than itself
			answer.Result, _ = jsonscan.Mend(answer.Result)
			err = jsonscan.Valid(answer.Result)
		}
		if err != nil && !(protocol.ListsItems(method) && jsonscan.ValidLists(answer.Result)) {
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

// writeOn writes a message on a goroutine of its own, and does not wait for a connection that
// goes on writing after ctx has ended.
func writeOn(ctx context.Context, run func(func()) bool, conn Conn, m *jsonrpc.Request) error {
	if err := ctx.Err(); err != nil {
		return WithOutcome(err, NotSent)
	}
	written := make(chan error, 1)
	if !run(func() { written <- conn.Write(ctx, m) }) {
		return WithOutcome(errEnded, NotSent)
	}
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancel tells the server that a request has no caller any more. One of the handshake
// must not be cancelled.
func (c *foreignCaller) cancel(method string, id int64) {
	if method == protocol.Initialize || method == protocol.Discover {
		return
	}
	params, _ := json.Marshal(map[string]any{"requestId": id, "reason": "the caller gave up"})
	c.run(func() {
		ctx, stop := context.WithTimeout(c.reading, cancelTimeout)
		defer stop()
		_ = c.Conn.Write(ctx, &jsonrpc.Request{Method: protocol.NoteCancelled, Params: params})
	})
}

// Close closes the connection and waits for the goroutines, for a while.
func (c *foreignCaller) Close() error {
	err := c.Conn.Close()
	c.stop()
	c.wait()
	return err
}
