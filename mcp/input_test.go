package mcp_test

import (
	"context"
	"encoding/json"
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

const inputRequest = `{"method":"elicitation/create","params":` + question + `}`

// needs is a result that asks for input.
func needs(requests, state string) mcptest.Handler {
	result := `{"resultType":"input_required"`
	if requests != "" {
		result += `,"inputRequests":` + requests
	}
	if state != "" {
		result += `,"requestState":` + state
	}
	return mcptest.Result(result + "}")
}

func everyPlane(t *testing.T, test func(t *testing.T, p plane)) {
	for _, p := range planes() {
		t.Run(p.name, func(t *testing.T) { test(t, p) })
	}
}

func annAnswers(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return accept(map[string]any{"name": "Ann"}), nil
}

func TestInputRequired(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		const state = `"a\u0041 é\"x"`
		server := modern(t, mcptest.Script{"tools/call": mcptest.Sequence(
			needs(`{"q 1":`+inputRequest+`,"q\"2":`+inputRequest+`}`, state),
			needs(`{"q3":`+inputRequest+`}`, ""),
			text("done"),
		)})
		c := newClient(t, p.to(server), &mcp.ClientOptions{Elicit: annAnswers})
		res := assert.Value(c.CallTool(t.Context(), "x", json.RawMessage(`{"a":1}`), nil))(t)
		assert.Equal(t, textOf(t, res), "done", "result")
		const ann = `{"action":"accept","content":{"name":"Ann"}}`
		for i, want := range []struct{ responses, state string }{
			{"", ""},
			{`{"q 1":` + ann + `,"q\"2":` + ann + `}`, state},
			{`{"q3":` + ann + `}`, ""},
		} {
			var params struct {
				Name           string          `json:"name"`
				Arguments      json.RawMessage `json:"arguments"`
				InputResponses json.RawMessage `json:"inputResponses"`
				RequestState   json.RawMessage `json:"requestState"`
			}
			assert.OK(t, json.Unmarshal(server.Received("tools/call")[i].Params, &params))
			assert.Equal(t, [...]any{params.Name, string(params.Arguments), string(params.InputResponses), string(params.RequestState)},
				[...]any{"x", `{"a":1}`, want.responses, want.state}, "round %d", i+1)
		}
	})
}

// A server that only wants to be asked again gets some time, and not for ever.
func TestServerBusy(t *testing.T) {
	for _, requests := range []string{"", "{}", "null"} {
		synctest.Test(t, func(t *testing.T) {
			busy := needs(requests, `"s"`)
			server := modern(t, mcptest.Script{"tools/call": mcptest.Sequence(busy, busy, busy, text("done"), busy)})
			c := newClient(t, server, nil)
			ready(t, c)
			start := time.Now()
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
			assert.Equal(t, time.Since(start), 1400*time.Millisecond, "it took")
			_, err := call(t, c, "x")
			invalid := assert.As[*mcp.ProtocolError](t, err)
			assert.Equal(t, invalid.Path, "inputRequests", "path")
			wantCount(t, server, "tools/call", 8)

			ctx := within(t, 100*time.Millisecond)
			_, err = c.CallTool(ctx, "x", nil, nil)
			wantOutcome(t, err, mcp.Answered)
			assert.Is(t, err, context.DeadlineExceeded)
		})
	}
}

func TestInputThatCannotBeGiven(t *testing.T) {
	errHandler := errors.New("nobody at home")
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprintf(`"%d":%s`, i, inputRequest)
	}
	for _, test := range []struct {
		name     string
		requests string
		elicit   func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)
		path     string // of a *ProtocolError
		says     string
		calls    int
	}{
		{"method", `{"a":{"method":"sampling/createMessage","params":{}}}`, annAnswers, `inputRequests["a"].method`, "sampling/createMessage", 1},
		{"no request", `{"a":7}`, annAnswers, `inputRequests["a"]`, "got a number, want an object", 1},
		{"no method", `{"a":{}}`, annAnswers, `inputRequests["a"].method`, "", 1},
		{"undeclared mode", `{"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example/"}}}`, annAnswers, `inputRequests["a"]`, `mode "url" was not declared`, 1},
		{"schema of wrong type", `{"a":{"method":"elicitation/create","params":{"requestedSchema":[]}}}`, annAnswers, `inputRequests["a"].params.requestedSchema`, "", 1},
		{"method of wrong type", `{"a":{"method":7}}`, annAnswers, `inputRequests["a"].method`, "", 1},
		{"params of wrong type", `{"a":{"method":"elicitation/create","params":7}}`, annAnswers, `inputRequests["a"].params`, "", 1},
		{"no object", `[` + inputRequest + `]`, annAnswers, "inputRequests", "", 1},
		{"again and again", `{"a":` + inputRequest + `}`, annAnswers, "inputRequests", "10 times", 10},
		{"too many", `{` + strings.Join(many, ",") + `}`, annAnswers, "inputRequests", "more than 16", 1},
		{"nobody to ask", `{"a":` + inputRequest + `}`, nil, `inputRequests["a"].method`, "was not declared by this client", 1},
		{"handler fails", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errHandler
		}, "", "nobody at home", 1},
		{"handler panics", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			panic("oops")
		}, "", "oops", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := modern(t, mcptest.Script{"tools/call": needs(test.requests, "")})
			c := newClient(t, server, &mcp.ClientOptions{Elicit: test.elicit})
			_, err := call(t, c, "x")
			wantOutcome(t, err, mcp.Answered)
			assert.Contains(t, err.Error(), test.says)
			assert.Contains(t, err.Error(), `"scripted"`)
			var invalid *mcp.ProtocolError
			if errors.As(err, &invalid) != (test.path != "") || invalid != nil && invalid.Path != test.path {
				t.Errorf("error %v, want one at %q", err, test.path)
			}
			if test.name == "handler fails" && !errors.Is(err, errHandler) {
				t.Errorf("error %v does not wrap the handler's", err)
			}
			wantCount(t, server, "tools/call", test.calls)
		})
	}
}

// What the server has begun and not finished is not "not sent".
func TestSecondRoundNotSent(t *testing.T) {
	server := modern(t, mcptest.Script{"tools/call": needs(`{"a":`+inputRequest+`}`, "")})
	c := newClient(t, server, &mcp.ClientOptions{
		Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			server.Down(errDown)
			server.Disconnect()
			return annAnswers(ctx, r)
		},
	})
	_, err := call(t, c, "x")
	if err == nil || mcp.SafeToRetry(err) {
		t.Errorf("error %v would be repeated", err)
	}
}

// A handler that waits in the middle of a call ends with the call's time, with
// the client, and not with the beginning of Shutdown.
func TestInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		server := modern(t, mcptest.Script{"tools/call": needs(`{"a":`+inputRequest+`}`, "")})
		c := newClient(t, server, &mcp.ClientOptions{Elicit: waits, CallTimeout: time.Minute})
		ready(t, c)
		start := time.Now()
		assert.Is(t, errOf(call(t, c, "x")), context.DeadlineExceeded)
		assert.Equal(t, time.Since(start), time.Minute, "time")
		ended := inBackground(func() error { return errOf(call(t, c, "x")) })
		synctest.Wait()
		assert.OK(t, c.Close())
		assert.Is(t, <-ended, mcp.ErrClosed)
	})
}

func TestShutdownWaitsForInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t, mcptest.Script{"tools/call": mcptest.Sequence(needs(`{"a":`+inputRequest+`}`, ""), text("done"))})
		c := newClient(t, server, &mcp.ClientOptions{Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			time.Sleep(time.Minute)
			return annAnswers(ctx, r)
		}})
		ended := inBackground(func() error { return errOf(call(t, c, "x")) })
		synctest.Wait()
		assert.OK(t, c.Shutdown(t.Context()))
		assert.OK(t, <-ended, "the call failed")
	})
}
