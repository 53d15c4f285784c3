package mcptest_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A wire is the client's end of a connection, used by hand.
type wire struct {
	t    *testing.T
	conn mcp.Conn
}

func dial(t *testing.T, s *mcptest.Server) *wire {
	t.Helper()
	return &wire{t, assert.Value(s.Connect(t.Context()))(t)}
}

func (w *wire) send(id float64, method, params string) {
	w.t.Helper()
	r := &jsonrpc.Request{Method: method, Params: []byte(params)}
	if id != 0 {
		r.ID, _ = jsonrpc.MakeID(id)
	}
	assert.OK(w.t, w.conn.Write(w.t.Context(), r))
}

func (w *wire) read() jsonrpc.Message {
	w.t.Helper()
	return assert.Value(w.conn.Read(w.t.Context()))(w.t)
}

func (w *wire) wantResult(id int64, want string) {
	w.t.Helper()
	r := w.read().(*jsonrpc.Response)
	assert.OK(w.t, r.Error)
	assert.Equal(w.t, [...]any{r.ID.Raw(), string(r.Result)}, [...]any{id, want}, "the answer")
}

func TestAnswers(t *testing.T) {
	s := mcptest.NewServer(t,
		mcptest.Script{"a": mcptest.Result(`1`), "b": mcptest.Error(7, "no")},
		mcptest.Script{"a": mcptest.Sequence(mcptest.Result(`{"n": 1}`), mcptest.Result(`2`))})
	w := dial(t, s)
	for i, want := range []string{`{"n": 1}`, `2`, `2`} {
		w.send(float64(i+1), "a", `{}`)
		w.wantResult(int64(i+1), want)
	}
	for method, code := range map[string]int64{"b": 7, "c": -32601} {
		w.send(9, method, `{"x":1}`)
		assert.Equal(t, assert.As[*mcp.JSONRPCError](t, w.read().(*jsonrpc.Response).Error, "%s", method).Code, code, "%s: code", method)
	}
	all := s.Received("")
	assert.Equal(t, len(all), 5, "received")
	assert.Equal(t, all[4].Connection, 1, "connection")
	assert.Equal(t, string(s.Await("c", 1).Params), `{"x":1}`, "params")
}

func TestCallSpeaks(t *testing.T) {
	s := mcptest.NewServer(t, mcptest.Script{"a": func(c *mcptest.Call) {
		c.Progress(1)
		c.Notify("note", `{"n":1}`)
		answer, err := c.Ask("question", `{}`)
		assert.Is(t, err, nil)
		c.Result(string(answer))
	}})
	w := dial(t, s)
	w.send(1, "a", `{"_meta":{"progressToken":"p"}}`)
	for _, want := range []string{`{"progressToken":"p","progress":1}`, `{"n":1}`} {
		assert.Equal(t, string(w.read().(*jsonrpc.Request).Params), want, "params")
	}
	question := w.read().(*jsonrpc.Request)
	assert.Equal(t, question.Method, "question")
	assert.OK(t, w.conn.Write(t.Context(), &jsonrpc.Response{ID: question.ID, Result: []byte(`"answer"`)}))
	w.wantResult(1, `"answer"`)
}

func TestCancelled(t *testing.T) {
	s := mcptest.NewServer(t, mcptest.Script{"a": func(c *mcptest.Call) {
		mcptest.Hang(c)
		c.Result(`"late"`)
	}})
	w := dial(t, s)
	w.send(1, "a", "")
	w.send(0, "notifications/cancelled", `{"requestId":1}`)
	w.wantResult(1, `"late"`)
}

func TestDown(t *testing.T) {
	s := mcptest.NewServer(t, mcptest.Script{"a": mcptest.Disconnect})
	w := dial(t, s)
	errDown := errors.New("down")
	s.Down(errDown)
	assert.Is(t, assert.Err(s.Connect(t.Context())), errDown)
	w.send(1, "a", "")
	assert.Is(t, assert.Err(w.conn.Read(t.Context())), io.EOF)
	assert.Equal(t, mcp.OutcomeOf(w.conn.Write(t.Context(), &jsonrpc.Request{Method: "b"})), mcp.NotSent)
	s.Down(nil)
	assert.Value(s.Connect(t.Context()))(t)
	assert.Equal(t, s.Connections(), 3, "connections")
}

// Serve ends with its context, as one who serves a pipe must.
func TestServeEnds(t *testing.T) {
	s := mcptest.NewServer(t, mcptest.Script{"a": mcptest.Hang})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	middle := mcptest.NewServer(t, mcptest.Script{})
	go func() { ended <- s.Serve(ctx, middle) }()
	cancel()
	assert.OK(t, <-ended)
}
