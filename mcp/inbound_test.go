// Tests of inbound.go and foreign.go: what a server asks, and what it says unasked.

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A server that waits for the user is given time: neither the idle time of its
// call runs nor that of another one, and both begin anew when the user is done.
func TestNoImpatienceWhileUserIsAsked(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		c := newClient(t, p.to(legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			pause(30 * time.Second)
			_, err := c.Ask("elicitation/create", question)
			pause(50 * time.Second)
			answerText(c, fmt.Sprint(err))
		}})), &mcp.ClientOptions{Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			pause(5 * time.Minute)
			return accept(map[string]any{"name": "Ann"}), ctx.Err()
		}})
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "<nil>", "error for the server")
	})
}

// But the call as a whole has its end.
func TestTotalTimeWhileUserIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, legacy(t, mcptest.Script{"tools/call": asking(question)}), &mcp.ClientOptions{Elicit: waits})
		start := time.Now()
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{CallTimeout: 3 * time.Minute})
		assert.Equal(t, [...]any{assert.As[*mcp.TimeoutError](t, err).Limit, time.Since(start)}, [...]any{"total", 3 * time.Minute})
	})
}

// A server hears nothing more of a question that it has withdrawn, and the
// handler is told.
func TestServerWithdrawsItsQuestion(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		shown, withdrawn := make(chan struct{}), make(chan struct{})
		c := newClient(t, p.to(legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			answered := askedInVain(t, c, "elicitation/create")
			<-shown
			for _, params := range []string{`{"requestId":"never asked"}`, `{"requestId":{}}`, `{}`, ``, `7`, `{"requestId":"ask-1"}`} {
				c.Notify("notifications/cancelled", params)
			}
			<-withdrawn
			pause(time.Second)
			answerText(c, "fine")
			<-answered
		}})), &mcp.ClientOptions{Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(shown)
			<-ctx.Done()
			close(withdrawn)
			return accept(map[string]any{"name": "Ann"}), nil
		}})
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "fine", "result")
		_ = c.Close()
	})
}

// askedInVain asks the client, which is not to answer as long as the connection lives.
func askedInVain(t *testing.T, c *mcptest.Call, methods ...string) <-chan error {
	return inBackground(func() error {
		for _, method := range methods {
			if res, err := c.Ask(method, question); c.Context().Err() == nil {
				t.Errorf("%s was answered with %s, %v", method, res, err)
			}
		}
		return nil
	})
}

// What a server sends unasked and what it does not mean harms nothing.
func TestUnaskedMessages(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := mcptest.NewServer(t, mcptest.Handshake(revision, `{"tools":{},"resources":{"subscribe":true}}`), mcptest.Script{"tools/call": func(c *mcptest.Call) {
			for _, method := range []string{
				"notifications/progress", "notifications/cancelled", "notifications/message", "notifications/resources/updated",
				"notifications/subscriptions/acknowledged", "notifications/elicitation/complete", "notifications/tasks/status", "notifications/tasks",
				"notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed",
				"notifications/initialized", "notifications/unknown", "tools/call", "initialize", "",
			} {
				for _, params := range []string{``, `{}`, `7`, `null`, `[]`, `"x"`, `{"uri":7,"progressToken":{},"requestId":[],"elicitationId":null,"_meta":7,"notifications":[],"taskId":{},"level":1,"data":{}}`,
					`{"_meta":{"io.modelcontextprotocol/subscriptionId":"subscriptions/listen 1"},"notifications":{"resourceSubscriptions":7}}`} {
					c.Notify(method, params)
				}
			}
			answerText(c, "fine")
		}})
		c := newClient(t, p.to(server), nil)
		for range 2 {
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "fine", "result")
		}
		assert.Equal(t, c.State().Connections, 1, "connections")
	})
}

// Revision 2026-07-28 has no requests of the server's, and forbids to answer
// them.
func TestModernServerMayNotAsk(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		asked, c := withRequestLog(t, p.to(modern(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
			answered := askedInVain(t, c, "ping", "elicitation/create", "roots/list")
			pause(time.Second)
			answerText(c, "fine")
			<-answered
		}})))
		mustCall(t, c, "x")
		_ = c.Close()
		assert.Equal(t, asked.elicited.Load(), 0, "questions for the handler")
	})
}

// What the client does not offer it says so, and pings it answers.
func TestServerAsksWhatIsNotOffered(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		for method, want := range map[string]string{
			"ping": "{}<nil>", "elicitation/create": "-32601", "sampling/createMessage": "-32601", "roots/list": "-32601", "tools/call": "-32601",
		} {
			c := newClient(t, p.to(legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
				res, err := c.Ask(method, question)
				if refused := new(mcp.JSONRPCError); errors.As(err, &refused) {
					res = fmt.Append(res, refused.Code)
				}
				answerText(c, fmt.Sprint(string(res), err))
			}})), nil)
			assert.Contains(t, textOf(t, mustCall(t, c, "x")), want, "%s was answered with", method)
		}
	})
}

// A server that uses the id of a question again, which it has withdrawn, gets the
// answer to its last question, however late the handler of the first returns.
func TestServerAsksAgainByTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := assert.Value(jsonrpc.MakeID("q"))(t)
		ask := func(message string) *jsonrpc.Request {
			return &jsonrpc.Request{ID: id, Method: "elicitation/create", Params: json.RawMessage(`{"message":"` + message + `"}`)}
		}
		answers := make(chan string, 2)
		serve := func(ctx context.Context, to mcp.Transport) error {
			conn, err := to.Connect(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			for {
				m, err := conn.Read(ctx)
				if err != nil {
					return nil
				}
				switch m := m.(type) {
				case *jsonrpc.Response:
					answers <- string(m.Result)
				case *jsonrpc.Request:
					var out []jsonrpc.Message
					switch m.Method {
					case "initialize":
						out = append(out, &jsonrpc.Response{ID: m.ID, Result: json.RawMessage(
							`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)})
					case "server/discover":
						out = append(out, &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{Code: -32601, Message: "no"}})
					case "notifications/initialized":
						out = append(out, ask("first"),
							&jsonrpc.Request{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":"q"}`)}, ask("second"))
					}
					for _, m := range out {
						if err := conn.Write(ctx, m); err != nil {
							return nil
						}
						pause(time.Second)
					}
				}
			}
		}
		c := newReady(t, &transport.Pipe{Serve: serve}, &mcp.ClientOptions{
			Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				pause(time.Minute)
				return accept(map[string]any{"to": r.Params.Message}), nil
			},
		})
		pass(90 * time.Second)
		_ = c.Close()
		close(answers)
		var got []string
		for answer := range answers {
			got = append(got, answer)
		}
		wantLen(t, got, 1)
		assert.Contains(t, got[0], "second")
	})
}

// While the user thinks about an answer, the server is heard: it announces other
// tools and asks whether the client is there. (A server of revision 2026-07-28
// asks in its answer to the call, and waits for nothing.)
func TestServerIsHeardWhileTheUserThinks(t *testing.T) {
	everyPlaneInBubble(t, func(t *testing.T, p plane) {
		asked, answer := make(chan struct{}), make(chan struct{})
		server, c := p.withReady(t, legacy(t, mcptest.Script{
			"tools/call": asking(question),
			"tools/list": func(c *mcptest.Call) {
				assert.Is(t, assert.Err(c.Ask("ping", `{}`)), nil, "ping")
				c.Result(`{"tools":[]}`)
			},
		}), &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			<-answer
			return accept(map[string]any{"name": "Ann"}), nil
		}})
		called := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		<-asked
		before := c.State().ToolsVersion
		server.Notify("notifications/tools/list_changed", `{}`)
		synctest.Wait()
		wantOther(t, c.State().ToolsVersion, before, "the change is not heard")
		assert.Value(c.Tools(t.Context()))(t)
		close(answer)
		assert.OK(t, <-called)
	})
}

// A server that asks without end and reads no answers makes the client hold a
// bounded number of them, and is still of use.
func TestServerAsksTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers atomic.Int64 // that wait to be read
		server := legacy(t, mcptest.Script{"tools/call": text("fine")})
		asking := wrapped(server, func(conn mcp.Conn) mcp.Conn {
			return &askerConn{Conn: conn, answers: &answers, closed: make(chan struct{})}
		})
		c := newReady(t, asking, nil)
		synctest.Wait()
		assert.Equal(t, answers.Load(), 64, "answers wait to be read")
		mustCall(t, c, "still")
	})
}

// An askerConn leads to a server that sends requests before anything else, once
// the handshake is done, and does not read the answers.
type askerConn struct {
	mcp.Conn
	answers *atomic.Int64
	reads   int
	once    sync.Once
	closed  chan struct{}
}

func (c *askerConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *askerConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	const handshake, asks = 2, 5_000 // 2 answers: to the probe and to initialize
	if c.reads++; c.reads > handshake && c.reads <= handshake+asks {
		id, err := jsonrpc.MakeID(fmt.Sprint(c.reads))
		return &jsonrpc.Request{ID: id, Method: "ping"}, err
	}
	return c.Conn.Read(ctx)
}

func (c *askerConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, answers := m.(*jsonrpc.Response); !answers {
		return c.Conn.Write(ctx, m)
	}
	c.answers.Add(1)
	<-c.closed
	return io.ErrClosedPipe
}

// A request of the server whose params cannot be read is refused by its id, and logged; a
// notification is logged, and counts.
func TestUnreadableRequestIsRefused(t *testing.T) {
	var log strings.Builder
	refused := make(chan error, 1)
	_, c := withReady(t, legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
		_, err := c.Ask("ping", `{"a":1,"a":2}`)
		refused <- err
		c.Notify("notifications/tools/list_changed", `{"a":`)
		c.Result(`{"content":[]}`)
	}}), &mcp.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	before := c.State().ToolsVersion
	mustCall(t, c, "x")
	answer := assert.As[*mcp.JSONRPCError](t, <-refused)
	assert.Equal(t, answer.Code, -32700, "code")
	assert.Contains(t, answer.Message, "duplicate key")
	for s := range c.Watch(within(t, time.Minute)) {
		if s.ToolsVersion != before {
			break
		}
	}
	assert.OK(t, c.Close())
	assert.Contains(t, log.String(), "a request of the server failed")
	assert.Contains(t, log.String(), "a notification cannot be read")
}
