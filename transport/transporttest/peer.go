package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A peer is the client's side of a connection after its handshake.
type peer struct {
	mcp.Caller
	done chan struct{} // closed when the connection has ended
}

// connect makes a connection and shakes hands over it. The connection is closed
// with the test.
func connect(t *testing.T, tr mcp.Transport) *peer {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), tooLong)
	defer stop()
	conn, err := tr.Connect(ctx)
	assert.OK(t, err, "Connect")
	p := &peer{Caller: mcp.CallerOf(conn), done: make(chan struct{})}
	p.Receive(func(jsonrpc.Message, int64) {}, func(error) { close(p.done) })
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-p.done
	})
	params := json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"transporttest","version":"1"}}`)
	_, err = p.Call(ctx, "initialize", params, nil)
	assert.OK(t, err, "initialize")
	assert.OK(t, p.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized", Params: json.RawMessage(`{}`)}), "notifications/initialized")
	return p
}

// call calls a tool of [NewServer].
func (p *peer) call(ctx context.Context, tool string, args any, opts *mcp.CallOptions) (string, error) {
	params := map[string]any{"name": tool, "arguments": args}
	if opts != nil && opts.ProgressToken != 0 {
		params["_meta"] = map[string]any{"progressToken": opts.ProgressToken}
	}
	data, err := json.Marshal(params)
	if err != nil {
		return "", err
	}
	raw, err := p.Call(ctx, "tools/call", data, opts)
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
		assert.OK(t, err, "waiting")
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
	if err != nil { // here, the test may not be ended: see checkConcurrentCalls
		t.Errorf("echo: %v", err)
		return
	}
	assert.Equal(t, got, nonce, "echo")
}
