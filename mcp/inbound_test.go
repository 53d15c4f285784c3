package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A server that waits for the user is given time: neither the idle time of its
// call runs nor that of another one, and both begin anew when the user is done.
func TestNoImpatienceWhileUserIsAsked(t *testing.T) {
	for _, p := range planes() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
					time.Sleep(30 * time.Second)
					_, err := c.Ask("elicitation/create", question)
					time.Sleep(50 * time.Second)
					if err != nil {
						answerText(c, err.Error())
						return
					}
					answerText(c, "fine")
				}})
				c := newClient(t, p.to(server), &mcp.ClientOptions{Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					time.Sleep(5 * time.Minute)
					return accept(map[string]any{"name": "Ann"}), ctx.Err()
				}})
				assert.Equal(t, textOf(t, mustCall(t, c, "x")), "fine", "result")
			})
		})
	}
}

// But the call as a whole has its end.
func TestTotalTimeWhileUserIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": asking(question)})
		c := newClient(t, server, &mcp.ClientOptions{Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		start := time.Now()
		_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{CallTimeout: 3 * time.Minute})
		late := assert.As[*mcp.TimeoutError](t, err)
		assert.Equal(t, [...]any{late.Limit, time.Since(start)}, [...]any{"total", 3 * time.Minute})
	})
}

// A server hears nothing more of a question that it has withdrawn, and the
// handler is told.
func TestServerWithdrawsItsQuestion(t *testing.T) {
	for _, p := range planes() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shown, withdrawn := make(chan struct{}), make(chan struct{})
				server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
					answered := make(chan struct{})
					go func() {
						defer close(answered)
						if res, err := c.Ask("elicitation/create", question); c.Context().Err() == nil {
							t.Errorf("the question was answered with %s, %v", res, err)
						}
					}()
					<-shown
					for _, params := range []string{`{"requestId":"never asked"}`, `{"requestId":{}}`, `{}`, ``, `7`, `{"requestId":"ask-1"}`} {
						c.Notify("notifications/cancelled", params)
					}
					<-withdrawn
					time.Sleep(time.Second)
					answerText(c, "fine")
					<-answered
				}})
				c := newClient(t, p.to(server), &mcp.ClientOptions{Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					close(shown)
					<-ctx.Done()
					close(withdrawn)
					return accept(map[string]any{"name": "Ann"}), nil
				}})
				assert.Equal(t, textOf(t, mustCall(t, c, "x")), "fine", "result")
				_ = c.Close()
			})
		})
	}
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
	for _, p := range planes() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := modern(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
					answered := make(chan struct{})
					go func() {
						defer close(answered)
						for _, method := range []string{"ping", "elicitation/create", "roots/list"} {
							if res, err := c.Ask(method, question); c.Context().Err() == nil {
								t.Errorf("%s was answered with %s, %v", method, res, err)
							}
						}
					}()
					time.Sleep(time.Second)
					answerText(c, "fine")
					<-answered
				}})
				c := newClient(t, p.to(server), &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					t.Error("the user was asked")
					return nil, nil
				}})
				mustCall(t, c, "x")
				_ = c.Close()
			})
		})
	}
}

// What the client does not offer it says so, and pings it answers.
func TestServerAsksWhatIsNotOffered(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		for method, want := range map[string]string{
			"ping": "{}", "elicitation/create": "-32601", "sampling/createMessage": "-32601", "roots/list": "-32601", "tools/call": "-32601",
		} {
			server := legacy(t, mcptest.Script{"tools/call": func(c *mcptest.Call) {
				res, err := c.Ask(method, question)
				var refused *mcp.JSONRPCError
				if errors.As(err, &refused) {
					res, _ = json.Marshal(refused)
				}
				answerText(c, string(res))
			}})
			c := newClient(t, p.to(server), nil)
			assert.Contains(t, textOf(t, mustCall(t, c, "x")), want, "%s was answered with", method)
		}
	})
}
