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
	conn := assert.Value(s.Connect(t.Context()))(t)
	return &wire{t, conn}
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
	m := assert.Value(w.conn.Read(w.t.Context()))(w.t)
	return m
}

func (w *wire) wantResult(id int64, want string) {
	w.t.Helper()
	r, ok := w.read().(*jsonrpc.Response)
	if !ok || r.ID.Raw() != id || r.Error != nil || string(r.Result) != want {
		w.t.Errorf("answer %+v, want %d: %s", r, id, want)
	}
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
		r, ok := w.read().(*jsonrpc.Response)
		var refused *mcp.JSONRPCError
		if !ok || !errors.As(r.Error, &refused) || refused.Code != code {
			t.Errorf("%s: answer %+v", method, r)
		}
	}
	if all := s.Received(""); len(all) != 5 || all[4].Connection != 1 {
		t.Errorf("received %+v", all)
	}
	if got := s.Await("c", 1); string(got.Params) != `{"x":1}` {
		t.Errorf("received %+v", got)
	}
}

func TestCallSpeaks(t *testing.T) {
	s := mcptest.NewServer(t, mcptest.Script{"a": func(c *mcptest.Call) {
		c.Progress(1)
		c.Notify("note", `{"n":1}`)
		answer, err := c.Ask("question", `{}`)
		if err != nil {
			t.Error(err)
		}
		c.Result(string(answer))
	}})
	w := dial(t, s)
	w.send(1, "a", `{"_meta":{"progressToken":"p"}}`)
	for _, want := range []string{`{"progressToken":"p","progress":1}`, `{"n":1}`} {
		if r, ok := w.read().(*jsonrpc.Request); !ok || string(r.Params) != want {
			t.Errorf("message %+v, want %s", r, want)
		}
	}
	question, ok := w.read().(*jsonrpc.Request)
	if !ok || question.Method != "question" {
		t.Fatalf("message %+v", question)
	}
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
	if _, err := s.Connect(t.Context()); !errors.Is(err, errDown) {
		t.Errorf("error %v", err)
	}
	w.send(1, "a", "")
	if _, err := w.conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
	err := w.conn.Write(t.Context(), &jsonrpc.Request{Method: "b"})
	if !mcp.SafeToRetry(err) {
		t.Errorf("error %v", err)
	}
	s.Down(nil)
	if _, err := s.Connect(t.Context()); err != nil || s.Connections() != 3 {
		t.Errorf("error %v, %d connections", err, s.Connections())
	}
}

// Serve ends with its context, as one who serves a pipe must.
func TestServeEnds(t *testing.T) {
	s := mcptest.NewServer(t, mcptest.Script{"a": mcptest.Hang})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	middle := mcptest.NewServer(t, mcptest.Script{})
	go func() { ended <- s.Serve(ctx, middle) }()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
