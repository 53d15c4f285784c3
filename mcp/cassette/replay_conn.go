package cassette

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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
	message func(jsonrpc.Message, int64) // of Receive; nil: Read is used
	over    func(error)
	queue   []jsonrpc.Message // to be read
	more    chan struct{}     // closed and replaced when there is something to read
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
		more:   make(chan struct{}),
		asked:  map[jsonrpc.ID]chan *jsonrpc.Response{},
	}
}

// Read implements mcp.Conn.
func (c *replayedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.mu.Lock()
		queue, ended, more := c.queue, c.ended, c.more
		if len(queue) > 0 && !errors.Is(ended, errReplayClosed) {
			c.queue = queue[1:]
			c.mu.Unlock()
			return queue[0], nil
		}
		c.mu.Unlock()
		if errors.Is(ended, errReplayClosed) {
			return nil, io.EOF
		}
		if ended != nil {
			return nil, ended
		}
		select {
		case <-more:
		case <-ctx.Done():
		}
	}
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
		c.wake()
	}
	c.mu.Unlock()
	if message != nil {
		message(m, 0)
	}
}

func (c *replayedConn) wake() {
	close(c.more)
	c.more = make(chan struct{})
}

// end ends the connection. Only the first reason counts.
func (c *replayedConn) end(err error) {
	c.mu.Lock()
	first, over := c.ended == nil, c.over
	if first {
		c.ended = err
		c.wake()
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

// goes runs f on a goroutine that Close waits for, unless the connection ended.
func (c *replayedConn) goes(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.wg.Go(f)
	}
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
			c.performAll(t.after)
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
	if t.failure != nil {
		c.performEnds(t)
		return t.failure.err()
	}
	token := tokenOf(metaOf(m.Params))
	progress := func(params json.RawMessage) {
		c.post(&jsonrpc.Request{Method: noteProgress, Params: params})
	}
	c.goes(func() {
		result, err := c.play(c.ctx, t, token, progress)
		if c.ctx.Err() != nil {
			return
		}
		c.post(&jsonrpc.Response{ID: m.ID, Result: result, Error: err})
		c.performAll(t.after)
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
	token, progress := "", func(json.RawMessage) {}
	if opts != nil && opts.Progress != nil && opts.ProgressToken != 0 {
		token, progress = fmt.Sprint(opts.ProgressToken), opts.Progress
	}
	result, err := c.play(ctx, t, token, progress)
	if t.failure == nil {
		c.performAll(t.after)
	}
	return result, err
}

// play does what the server did with a request, and returns its answer.
func (c *replayedConn) play(ctx context.Context, t *turn, token string, progress func(json.RawMessage)) (json.RawMessage, error) {
	for _, a := range t.during {
		switch {
		case a.kind == asideProgress && token != "":
			progress(withToken(a.params, token))
		case a.kind == asideProgress:
		default:
			answered := c.perform(a)
			if err := c.await(ctx, a, answered); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case t.failure != nil:
		c.performEnds(t) // before the caller asks whether the connection lives
		return nil, t.failure.err()
	case t.refusal != nil:
		var refused mcp.JSONRPCError
		if err := json.Unmarshal(t.refusal, &refused); err != nil {
			return nil, err // the parser has looked at it
		}
		return nil, &refused
	case t.result != nil:
		return t.result, nil
	}
	return nil, c.lost(ctx, ctx.Done())
}

// lost waits for the end of the connection, or for done, and returns what a
// request without an answer ends with.
func (c *replayedConn) lost(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-c.ctx.Done():
	case <-done:
	}
	if err := c.Info().Err; err != nil {
		return mcp.WithOutcome(err, mcp.Unknown)
	}
	return mcp.WithOutcome(ctx.Err(), mcp.Unknown)
}

// await waits for the client's answer to a request of the server, if it was
// recorded, and compares it.
func (c *replayedConn) await(ctx context.Context, a *aside, answered <-chan *jsonrpc.Response) error {
	if answered == nil || a.result == nil && a.refusal == nil {
		return nil
	}
	var m *jsonrpc.Response
	select {
	case m = <-answered:
	case <-ctx.Done():
		return c.lost(ctx, ctx.Done())
	case <-c.ctx.Done():
		return c.lost(ctx, ctx.Done())
	}
	got := m.Result
	if m.Error != nil {
		r := Recorder{redactor: c.player.redactor}
		got = r.refusal(a.method, m.Error)
	} else if len(got) > 0 {
		got = c.player.redactor.json(got)
	}
	want := a.result
	if a.refusal != nil {
		want = a.refusal
	}
	if matches(requestKey(a.method, want), requestKey(a.method, got)) {
		return nil
	}
	recorded := &turn{request: true, method: a.method, params: want}
	return newUnrecorded(c.player.file, a.method, got, 0, []*turn{recorded})
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
	for _, list := range [][]*aside{t.during, t.after} {
		for _, a := range list {
			if a.kind == asideEnd {
				c.perform(a)
			}
		}
	}
}

// perform does what the server did by itself. If that was a request, the
// client's answer comes on the returned channel.
func (c *replayedConn) perform(a *aside) <-chan *jsonrpc.Response {
	switch a.kind {
	case asideEnd:
		c.end(&replayedError{text: a.reason})
	case asideNote:
		c.post(&jsonrpc.Request{Method: a.method, Params: a.params})
	case asideAsk:
		answer := make(chan *jsonrpc.Response, 1)
		c.mu.Lock()
		c.asks++
		id, err := jsonrpc.MakeID(fmt.Sprintf("replayed-%d", c.asks))
		c.asked[id] = answer
		c.mu.Unlock()
		if err != nil {
			return nil // a string is always an id
		}
		c.post(&jsonrpc.Request{ID: id, Method: a.method, Params: a.params})
		return answer
	}
	return nil
}

// withToken returns the params of a progress notification with its token.
func withToken(params json.RawMessage, token string) json.RawMessage {
	out := append([]byte(`{"progressToken":`), token...)
	for key, value := range jsonscan.Fields(params) {
		out = append(append(append(append(out, ','), quote(string(key))...), ':'), value...)
	}
	return append(out, '}')
}
