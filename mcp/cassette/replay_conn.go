package cassette

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// errReplayClosed ends the calls of a connection that the client closed.
var errReplayClosed = errors.New("connection closed")

// A replayedConn is one connection of a player, with both planes. It owns a
// goroutine for each request of the control plane that has no answer yet.
type replayedConn struct {
	player *player
	ctx    context.Context // ends with the connection
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex                   // guards the following
	message func(jsonrpc.Message, int64) // of Receive; nil before it
	over    func(error)
	queue   []jsonrpc.Message // for Receive
	ended   error             // why; set before ctx ends
	asked   map[jsonrpc.ID]chan *jsonrpc.Response
	asks    int
}

func newReplayedConn(p *player) *replayedConn {
	ctx, stop := context.WithCancel(context.Background())
	return &replayedConn{
		player: p,
		ctx:    ctx,
		stop:   stop,
		asked:  map[jsonrpc.ID]chan *jsonrpc.Response{},
	}
}

// Read implements mcp.Conn. A recording is played back to a client that uses Receive, as those
// of package mcp do.
func (c *replayedConn) Read(context.Context) (jsonrpc.Message, error) {
	return nil, errors.New("cassette: a recording is played back to an mcp.Client alone")
}

// Receive implements mcp.Caller.
func (c *replayedConn) Receive(message func(jsonrpc.Message, int64), ended func(error)) {
	c.mu.Lock()
	queue, err := c.queue, c.ended
	c.message, c.over, c.queue = message, ended, nil
	c.mu.Unlock()
	for _, m := range queue {
		message(m, 0)
	}
	if err != nil {
		ended(err)
	}
}

func (c *replayedConn) post(m jsonrpc.Message) {
	c.mu.Lock()
	message := c.message
	if message == nil {
		c.queue = append(c.queue, m)
	}
	c.mu.Unlock()
	if message != nil {
		message(m, 0)
	}
}

// end ends the connection. Only the first reason counts.
func (c *replayedConn) end(err error) {
	c.mu.Lock()
	first, over := c.ended == nil, c.over
	if first {
		c.ended = err
		c.stop()
	}
	c.mu.Unlock()
	if first && over != nil {
		over(err)
	}
}

// Info implements mcp.Caller. The client need not look after the server's health: a
// recording has no more pings than were recorded.
func (c *replayedConn) Info() mcp.ConnInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return mcp.ConnInfo{Err: c.ended, Stateless: true}
}

// SessionID implements mcp.Conn: a recording has none.
func (c *replayedConn) SessionID() string { return "" }

// Close implements mcp.Conn.
func (c *replayedConn) Close() error {
	c.end(errReplayClosed)
	c.wg.Wait()
	return nil
}

// Write implements mcp.Conn.
func (c *replayedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := cmp.Or(ctx.Err(), c.Info().Err); err != nil {
		return mcp.WithOutcome(err, mcp.NotSent)
	}
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.reply(m)
	case *jsonrpc.Request:
		if m.IsCall() {
			return c.request(m)
		}
		if t := c.player.note(m.Method); t != nil {
			c.performAll(t.After)
		}
	}
	return nil
}

// request plays a request of the control plane.
func (c *replayedConn) request(m *jsonrpc.Request) error {
	t, err := c.player.request(m.Method, m.Params)
	if err != nil {
		return err
	}
	if t.Failure != nil {
		c.performEnds(t)
		return t.Failure.err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return nil
	}
	c.wg.Go(func() {
		result, err := c.play(c.ctx, t, "", nil)
		if c.ctx.Err() != nil {
			return
		}
		c.post(&jsonrpc.Response{ID: m.ID, Result: result, Error: err})
		c.performAll(t.After)
	})
	return nil
}

// Call implements mcp.Caller.
func (c *replayedConn) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if err := cmp.Or(ctx.Err(), c.Info().Err); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	t, err := c.player.request(method, params)
	if err != nil {
		return nil, err
	}
	var token string
	var progress func(json.RawMessage)
	if opts != nil && opts.Progress != nil && opts.ProgressToken != 0 {
		token, progress = fmt.Sprint(opts.ProgressToken), opts.Progress
	}
	result, err := c.play(ctx, t, token, progress)
	if t.Failure == nil {
		c.performAll(t.After)
	}
	return result, err
}

// play does what the server did with a request, and returns its answer.
func (c *replayedConn) play(ctx context.Context, t *turn, token string, progress func(json.RawMessage)) (json.RawMessage, error) {
	for _, a := range t.During {
		switch {
		case a.Progress != nil && token != "":
			progress(withToken(a.Progress, token))
		case a.Progress != nil:
		default:
			answered := c.perform(a)
			if err := c.await(ctx, a, answered); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case t.Failure != nil:
		c.performEnds(t) // before the caller asks whether the connection lives
		return nil, t.Failure.err()
	case t.Error != nil:
		var refused mcp.JSONRPCError
		if err := json.Unmarshal(t.Error, &refused); err != nil {
			return nil, err // the parser has looked at it
		}
		return nil, &refused
	case t.Result != nil:
		return t.Result, nil
	}
	return nil, c.lost(ctx)
}

// lost waits for the end of the connection, or of ctx, and returns what a request without an
// answer ends with.
func (c *replayedConn) lost(ctx context.Context) error {
	select {
	case <-c.ctx.Done():
	case <-ctx.Done():
	}
	if err := c.Info().Err; err != nil {
		return mcp.WithOutcome(err, mcp.Unknown)
	}
	return mcp.WithOutcome(ctx.Err(), mcp.Unknown)
}

// await waits for the client's answer to a request of the server, if it was
// recorded, and compares it.
func (c *replayedConn) await(ctx context.Context, a *aside, answered <-chan *jsonrpc.Response) error {
	if answered == nil || a.Result == nil && a.Error == nil {
		return nil
	}
	var m *jsonrpc.Response
	select {
	case m = <-answered:
	case <-ctx.Done():
		return c.lost(ctx)
	case <-c.ctx.Done():
		return c.lost(ctx)
	}
	got := m.Result
	if m.Error != nil {
		r := Recorder{redactor: c.player.redactor}
		got = r.refusal(a.Request, m.Error)
	} else if len(got) > 0 {
		got = c.player.redactor.json(got)
	}
	want := a.Result
	if a.Error != nil {
		want = a.Error
	}
	if matches(requestKey(a.Request, want), requestKey(a.Request, got)) {
		return nil
	}
	recorded := &turn{Request: a.Request, Params: want}
	return newUnrecorded(c.player.file, a.Request, got, 0, []*turn{recorded})
}

// reply hands on the client's answer to a request of the server.
func (c *replayedConn) reply(m *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.asked[m.ID]; answer != nil {
		answer <- m // there is room for one
		delete(c.asked, m.ID)
	}
}

func (c *replayedConn) performAll(asides []*aside) {
	for _, a := range asides {
		c.perform(a)
	}
}

// performEnds ends the connection if it ended with the turn.
func (c *replayedConn) performEnds(t *turn) {
	for _, list := range [][]*aside{t.During, t.After} {
		for _, a := range list {
			if a.End != nil {
				c.perform(a)
			}
		}
	}
}

// perform does what the server did by itself. If that was a request, the
// client's answer comes on the returned channel.
func (c *replayedConn) perform(a *aside) <-chan *jsonrpc.Response {
	switch {
	case a.End != nil:
		c.end(&replayedError{text: *a.End})
	case a.Notification != "":
		c.post(&jsonrpc.Request{Method: a.Notification, Params: a.Params})
	case a.Request != "":
		answer := make(chan *jsonrpc.Response, 1)
		c.mu.Lock()
		c.asks++
		id, _ := jsonrpc.MakeID(fmt.Sprintf("replayed-%d", c.asks)) // a string always is one
		c.asked[id] = answer
		c.mu.Unlock()
		c.post(&jsonrpc.Request{ID: id, Method: a.Request, Params: a.Params})
		return answer
	}
	return nil
}

// withToken returns the params of a progress notification with its token.
func withToken(params json.RawMessage, token string) json.RawMessage {
	out := append([]byte(`{"progressToken":`), token...)
	for key, value := range jsonscan.Fields(params) {
		out = append(append(canonjson.AppendString(append(out, ','), string(key)), ':'), value...)
	}
	return append(out, '}')
}
