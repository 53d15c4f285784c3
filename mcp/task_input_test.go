package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A modernTask is a task of revision 2026-07-28.
var modernTask = taskScript{revision: mcp.Revision20260728}

// wants is an answer to tasks/get of a task that needs input.
func wants(requests string) mcptest.Handler {
	return mcptest.Result(`{"resultType":"complete",` + modernTask.state("input_required") + `,"inputRequests":` + requests + `}`)
}

// everyNewTask runs a test of revision 2026-07-28 on every plane, in a bubble.
func everyNewTask(t *testing.T, test func(t *testing.T, p plane)) {
	everyPlane(t, func(t *testing.T, p plane) {
		synctest.Test(t, func(t *testing.T) { test(t, p) })
	})
}

// What a task wants of the user he is asked once, however often the server says
// that it wants it, and the server is told once.
func TestTaskInput(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		asked := 0
		server := modernTask.server(t, mcptest.Script{"tasks/get": mcptest.Sequence(
			wants(`{"a":`+inputRequest+`}`),
			wants(`{"a":`+inputRequest+`}`), // not up to date yet
			wants(`{"a":`+inputRequest+`,"b \"1\"":`+inputRequest+`,"c":`+inputRequest+`}`),
			wants(`{"c":`+inputRequest+`}`),
			wants(`{}`),
			modernTask.get("input_required"),
			modernTask.get("working"),
			modernTask.get("completed"))})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			time.Sleep(3 * time.Minute) // sleep: on the bubble's clock
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
		assert.Equal(t, asked, 3, "the user was asked times")
		const ann = `{"action":"accept","content":{"name":"Ann"}}`
		for i, want := range []string{`{"a":` + ann + `}`, `{"b \"1\"":` + ann + `,"c":` + ann + `}`} {
			params := server.Received("tasks/update")[i].Params
			assert.Equal(t, [...]any{memberOf(t, params, "inputResponses"), memberOf(t, params, "taskId")}, [...]any{want, `"t1"`}, "update %d", i+1)
		}
		wantCount(t, server, "tasks/update", 2)
		wantCount(t, server, "tools/call", 1)
	})
}

// Input may be wanted before there is a task, in its own way.
func TestTaskInputBefore(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{
			"tools/call": mcptest.Sequence(needs(`{"a":`+inputRequest+`}`, `"s"`), mcptest.Result(modernTask.created())),
			"tasks/get":  mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), modernTask.get("completed")),
		})
		asked := 0
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, [...]any{textOf(t, mustCall(t, c, "x")), asked}, [...]any{"done", 2})
	})
}

// Responses that were lost on their way are sent again, without asking again.
func TestTaskInputLost(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{
			"tasks/get":    mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), wants(`{"a":`+inputRequest+`}`), modernTask.get("completed")),
			"tasks/update": mcptest.Sequence(mcptest.Disconnect, mcptest.Disconnect, mcptest.Result(`{}`)),
		})
		asked := 0
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return annAnswers(ctx, r)
		}})
		assert.Equal(t, [...]any{textOf(t, mustCall(t, c, "x")), asked}, [...]any{"done", 1})
		wantCount(t, server, "tasks/update", 3)
		first, last := server.Received("tasks/update")[0].Params, server.Received("tasks/update")[2].Params
		assert.Equal(t, memberOf(t, first, "inputResponses"), memberOf(t, last, "inputResponses"))
	})
}

// Responses that the server does not take matter only if it still wants them.
func TestTaskInputRefused(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		everyNewTask(t, func(t *testing.T, p plane) {
			next := modernTask.get("completed")
			if wanted {
				next = wants(`{"a":` + inputRequest + `}`)
			}
			server := modernTask.server(t, mcptest.Script{
				"tasks/get":    mcptest.Sequence(wants(`{"a":`+inputRequest+`}`), next),
				"tasks/update": mcptest.Error(-32602, "no such thing"),
			})
			c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: annAnswers})
			_, err := call(t, c, "x")
			if !wanted {
				assert.OK(t, err)
				return
			}
			taskError(t, err)
			refused := assert.As[*mcp.ServerError](t, err)
			assert.Equal(t, refused.Method, "tasks/update", "method")
			wantOutcome(t, err, mcp.Unknown)
		})
	}
}

// A task that cannot be helped is cancelled, unless it is to be kept. What a
// task wants is examined like all other requests.
func TestTaskInputInvalid(t *testing.T) {
	errHandler := errors.New("nobody at home")
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf(`"%d":%s`, i, inputRequest))
	}
	for _, test := range []struct {
		name     string
		requests string
		elicit   func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)
		path     string // of a *ProtocolError
		says     string
	}{
		{"undeclared", `{"a":{"method":"sampling/createMessage","params":{}}}`, annAnswers, `inputRequests["a"].method`, "sampling/createMessage"},
		{"nobody to ask", `{"a":` + inputRequest + `}`, nil, `inputRequests["a"].method`, "was not declared by this client"},
		{"other method", `{"a":{"method":"tools/call","params":{}}}`, annAnswers, `inputRequests["a"].method`, "tools/call"},
		{"no request", `{"a":7}`, annAnswers, `inputRequests["a"]`, "got a number, want an object"},
		{"too many", `{` + strings.Join(many, ",") + `}`, annAnswers, "inputRequests", "more than 16"},
		{"long key", `{"` + strings.Repeat("k", 5000) + `":` + inputRequest + `}`, annAnswers, "inputRequests", "longer than 4096"},
		{"handler fails", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errHandler
		}, "", "nobody at home"},
		{"handler panics", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			panic("oops")
		}, "", "oops"},
	} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", test.name, keep), func(t *testing.T) {
				everyNewTask(t, func(t *testing.T, p plane) {
					server := modernTask.server(t, mcptest.Script{"tasks/get": wants(test.requests)})
					c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: test.elicit})
					_, err := c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Task: &mcp.TaskOptions{Keep: keep}})
					assert.Contains(t, err.Error(), test.says)
					assert.Equal(t, taskError(t, err).Task.Status, mcp.TaskInputRequired, "status")
					var invalid *mcp.ProtocolError
					if errors.As(err, &invalid) != (test.path != "") || invalid != nil &&
						(invalid.Path != test.path || invalid.Method != "tasks/get" || invalid.Server != "scripted") {
						t.Errorf("error %v, want one at %q", err, test.path)
					}
					if test.name == "handler fails" && !errors.Is(err, errHandler) {
						t.Errorf("error %v does not wrap the handler's", err)
					}
					wantOutcome(t, err, mcp.Unknown)
					synctest.Wait()
					want := 1
					if keep {
						want = 0
					}
					wantCount(t, server, "tasks/cancel", want)
					wantCount(t, server, "tasks/update", 0)
				})
			})
		}
	}
}

// A server that wants something else each time is stopped.
func TestTaskInputWithoutEnd(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{"tasks/get": func(c *mcptest.Call) {
			wants(fmt.Sprintf(`{"k%d":%s}`, c.Number, inputRequest))(c)
		}})
		asked := 0
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return annAnswers(ctx, r)
		}})
		_, err := call(t, c, "x")
		taskError(t, err)
		invalid := assert.As[*mcp.ProtocolError](t, err)
		assert.Equal(t, [...]any{invalid.Path, asked}, [...]any{"inputRequests", 16})
	})
}

// A user who thinks longer than the call may take ends the task.
func TestTaskInputTooSlow(t *testing.T) {
	everyNewTask(t, func(t *testing.T, p plane) {
		server := modernTask.server(t, mcptest.Script{"tasks/get": wants(`{"a":` + inputRequest + `}`)})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Tasks: true, CallTimeout: time.Minute,
			Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		_, err := call(t, c, "x")
		var late *mcp.TimeoutError
		if taskError(t, err); !errors.As(err, &late) || late.Limit != "total" {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		wantCount(t, server, "tasks/cancel", 1)
	})
}
