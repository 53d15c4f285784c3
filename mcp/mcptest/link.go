package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A link is the server's side of one connection.
type link struct {
	server *Server
	conn   mcp.Conn
	number int
	ctx    context.Context // ends with the connection
	end    context.CancelFunc
	served chan struct{} // closed when serve has returned

	mu    sync.Mutex // guards the following
	calls map[jsonrpc.ID]context.CancelFunc
	asked map[jsonrpc.ID]chan<- *jsonrpc.Response
	asks  int
}

func newLink(s *Server, conn mcp.Conn, number int) *link {
	ctx, end := context.WithCancel(context.Background())
	return &link{
		server: s,
		conn:   conn,
		number: number,
		ctx:    ctx,
		end:    end,
		served: make(chan struct{}),
		calls:  map[jsonrpc.ID]context.CancelFunc{},
		asked:  map[jsonrpc.ID]chan<- *jsonrpc.Response{},
	}
}

// serve runs until the connection ends and all handlers have returned.
func (l *link) serve() {
	var handlers sync.WaitGroup
	for {
		m, err := l.conn.Read(l.ctx)
		if err != nil {
			break
		}
		switch m := m.(type) {
		case *jsonrpc.Request:
			l.dispatch(m, &handlers)
		case *jsonrpc.Response:
			l.deliver(m)
		}
	}
	l.close()
	handlers.Wait()
	close(l.served)
	l.server.forget(l)
}

func (l *link) dispatch(m *jsonrpc.Request, handlers *sync.WaitGroup) {
	r := Received{Connection: l.number, Method: m.Method, Params: m.Params}
	l.server.record(&r)
	if m.Method == "notifications/cancelled" {
		l.cancel(m.Params)
	}
	ctx, cancel := context.WithCancel(l.ctx)
	call := &Call{Received: r, link: l, id: m.ID, ctx: ctx}
	handler := l.server.script[m.Method]
	if handler == nil {
		handler = Error(jsonrpc.CodeMethodNotFound, "method not found: "+m.Method)
	}
	if m.IsCall() {
		l.mu.Lock()
		l.calls[m.ID] = cancel
		l.mu.Unlock()
	}
	handlers.Go(func() {
		defer func() {
			cancel()
			l.mu.Lock()
			delete(l.calls, m.ID)
			l.mu.Unlock()
		}()
		handler(call)
	})
}

func (l *link) cancel(params json.RawMessage) {
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &cancelled) != nil {
		return
	}
	id, err := jsonrpc.MakeID(cancelled.RequestID)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stop := l.calls[id]; stop != nil {
		stop()
	}
}

func (l *link) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answer := make(chan *jsonrpc.Response, 1)
	l.mu.Lock()
	l.asks++
	id, err := jsonrpc.MakeID(fmt.Sprintf("ask-%d", l.asks))
	l.asked[id] = answer
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	l.write(&jsonrpc.Request{ID: id, Method: method, Params: params})
	select {
	case r := <-answer:
		return r.Result, r.Error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *link) deliver(m *jsonrpc.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer := l.asked[m.ID]; answer != nil {
		answer <- m
		delete(l.asked, m.ID)
	}
}

// write sends m. A connection that cannot carry it ends.
func (l *link) write(m jsonrpc.Message) {
	if err := l.conn.Write(l.ctx, m); err != nil && l.ctx.Err() == nil {
		l.close()
	}
}

func (l *link) close() {
	l.end()
	_ = l.conn.Close()
}

// An end is one of the two ends of a connection in memory. What is written to
// one is read from the other, and Write returns when it was read.
type end struct {
	in     <-chan jsonrpc.Message
	out    chan<- jsonrpc.Message
	closed chan struct{} // shared by both ends
	once   *sync.Once
}

func pipe() (a, b *end) {
	there, back := make(chan jsonrpc.Message), make(chan jsonrpc.Message)
	closed, once := make(chan struct{}), &sync.Once{}
	return &end{there, back, closed, once}, &end{back, there, closed, once}
}

// Read implements [mcp.Conn].
func (e *end) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-e.in:
		return m, nil
	case <-e.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Conn]. A message that was not read was not sent.
func (e *end) Write(ctx context.Context, m jsonrpc.Message) error {
	err := io.ErrClosedPipe
	select {
	case <-e.closed:
	default:
		select {
		case e.out <- m:
			return nil
		case <-e.closed:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return mcp.WithOutcome(err, mcp.NotSent)
}

// Close implements [mcp.Conn].
func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// SessionID implements [mcp.Conn].
func (e *end) SessionID() string { return "" }
