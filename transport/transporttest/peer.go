package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A peer is the client's side of a connection after its handshake. One
// goroutine reads the connection until it ends.
type peer struct {
	conn mcp.Conn
	done chan struct{} // closed when reading has ended
	err  error         // why

	mu      sync.Mutex
	lastID  int64
	waiting map[jsonrpc.ID]chan *jsonrpc.Response
}

// connect makes a connection and shakes hands over it. The connection is closed
// with the test.
func connect(t *testing.T, tr mcp.Transport) *peer {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	conn, err := tr.Connect(ctx)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	p := &peer{conn: conn, done: make(chan struct{}), waiting: map[jsonrpc.ID]chan *jsonrpc.Response{}}
	go p.readAll()
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-p.done
	})
	params := json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"transporttest","version":"1"}}`)
	if caller, ok := conn.(mcp.Caller); ok {
		_, err = caller.Call(ctx, "initialize", params, nil)
	} else {
		_, err = p.exchange(ctx, "initialize", params)
	}
	if err != nil {
		t.Fatalf("initialize: %v", err)
	}
	if err := conn.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized", Params: json.RawMessage(`{}`)}); err != nil {
		t.Fatalf("notifications/initialized: %v", err)
	}
	return p
}

func (p *peer) readAll() {
	defer close(p.done)
	for {
		m, err := p.conn.Read(context.Background())
		if err != nil {
			p.err = err
			return
		}
		if resp, ok := m.(*jsonrpc.Response); ok {
			p.mu.Lock()
			answer := p.waiting[resp.ID]
			p.mu.Unlock()
			if answer != nil {
				answer <- resp
			}
		}
	}
}

// exchange sends a request over the control plane.
func (p *peer) exchange(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	p.mu.Lock()
	p.lastID++
	id, err := jsonrpc.MakeID(float64(p.lastID))
	if err != nil {
		p.mu.Unlock()
		return nil, err
	}
	answer := make(chan *jsonrpc.Response, 1)
	p.waiting[id] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
	}()
	if err := p.conn.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case resp := <-answer:
		return resp.Result, resp.Error
	case <-p.done:
		return nil, errors.Join(errors.New("the connection ended"), p.err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// call calls a tool of [NewServer]: over the data plane if the connection has
// one.
func (p *peer) call(ctx context.Context, tool string, args any, opts *mcp.CallOptions) (string, error) {
	params := map[string]any{"name": tool, "arguments": args}
	if opts != nil && opts.ProgressToken != 0 {
		params["_meta"] = map[string]any{"progressToken": opts.ProgressToken}
	}
	data, err := json.Marshal(params)
	if err != nil {
		return "", err
	}
	send := func() (json.RawMessage, error) { return p.exchange(ctx, "tools/call", data) }
	if caller, ok := p.conn.(mcp.Caller); ok {
		send = func() (json.RawMessage, error) { return caller.Call(ctx, "tools/call", data, opts) }
	}
	raw, err := send()
	if err != nil {
		return "", err
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", err
	}
	if len(result.Content) != 1 {
		return "", errors.New("no content: " + string(raw))
	}
	return result.Content[0].Text, nil
}

// awaitWaiting returns when n calls of wait are running at the server: a server
// need not heed a cancellation that comes before its call.
func (p *peer) awaitWaiting(t *testing.T, n string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	for {
		got, err := p.call(ctx, "waiting", struct{}{}, nil)
		if err != nil {
			t.Fatalf("waiting: %v", err)
		}
		if got == n {
			return
		}
	}
}

// mustEcho fails the test unless the connection works.
func (p *peer) mustEcho(t *testing.T, nonce string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	got, err := p.call(ctx, "echo", map[string]string{"text": nonce}, nil)
	if err != nil {
		t.Errorf("echo: %v", err)
	} else if got != nonce {
		t.Errorf("echo: got %q, want %q", got, nonce)
	}
}
