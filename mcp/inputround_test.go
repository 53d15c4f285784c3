package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// inputRequests are the requests that can need input, made with a round of the caller's.
var inputRequests = []struct {
	method, tool, result string
	run                  func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error
}{
	{"tools/call", "x", `{"content":[]}`, func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error {
		_, err := c.CallTool(ctx, "x", json.RawMessage(`{"a":1}`), &mcp.CallToolOptions{Input: round})
		return err
	}},
	{"prompts/get", "", `{"messages":[]}`, func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error {
		_, err := c.GetPrompt(ctx, "x", nil, &mcp.RequestOptions{Input: round})
		return err
	}},
	{"resources/read", "", `{"contents":[],"ttlMs":60000,"cacheScope":"public"}`, func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error {
		_, err := c.ReadResource(ctx, "a:x", &mcp.RequestOptions{Input: round})
		return err
	}},
}

// noHandler fails the test if the server's request comes to it.
func noHandler(t *testing.T) *mcp.ClientOptions {
	return &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		t.Error("got a request for the handler, want it for the caller")
		return nil, nil
	}}
}

// A caller gets the server requests and the state as the server wrote them, and another
// client sends the responses and the state as they are. The tracer sees an answer.
func TestInputRound(t *testing.T) {
	const (
		requests  = `{"q 1":` + inputRequest + `,"q\"2":{"method":"com.example/new","params":{"big":12345678901234567890}}}`
		state     = `"a\u0041 é\"x"`
		responses = `{"q 1": {"action":"accept","content":{"n":12345678901234567890}}, "q\"2":{}}`
	)
	for _, test := range inputRequests {
		t.Run(test.method, func(t *testing.T) {
			everyPlane(t, func(t *testing.T, p plane) {
				server := modern(t, mcptest.Script{test.method: mcptest.Sequence(needs(requests, state), mcptest.Result(test.result))})
				var traced notebook
				opts := noHandler(t)
				opts.Tracer = &traced
				err := test.run(t.Context(), newClient(t, p.to(server), opts), &mcp.InputRound{})
				need := assert.As[*mcp.InputRequiredError](t, err)
				assert.Equal(t, string(need.Requests), requests, "requests")
				assert.Equal(t, string(need.State), state, "state")
				assert.Equal(t, [3]string{need.Server, need.Method, need.Tool}, [3]string{"scripted", test.method, test.tool}, "an error of")
				wantOutcome(t, err, mcp.Answered)
				text := err.Error()
				assert.Lacks(t, text, "Who")
				assert.Lacks(t, text, "é")
				wantCount(t, server, test.method, 1)
				if r := traced.of(test.method); len(r) != 1 {
					t.Errorf("got %d traced requests, want 1", len(r))
				} else if r[0].Err != nil {
					t.Errorf("got the traced error %v, want none", r[0].Err)
				} else if !strings.Contains(string(r[0].Result), "input_required") {
					t.Errorf("got the traced result %s, want the server's", r[0].Result)
				}

				c := newClient(t, p.to(server), noHandler(t))
				round := &mcp.InputRound{Responses: json.RawMessage(responses), State: need.State}
				for range 2 { // what such a request returns is not kept
					assert.OK(t, test.run(t.Context(), c, round))
				}
				assert.OK(t, test.run(t.Context(), c, nil))
				received := server.Received(test.method)
				assert.Equal(t, len(received), 4, "received")
				for i, want := range [][2]string{{"", ""}, {responses, state}, {responses, state}, {"", ""}} {
					assert.Equal(t, memberOf(t, received[i].Params, "inputResponses"), want[0], "request %d: got responses", i)
					assert.Equal(t, memberOf(t, received[i].Params, "requestState"), want[1], "request %d: got state", i)
				}
			})
		})
	}
}

// Responses and a state that would break the message are not sent.
func TestInputRoundInvalid(t *testing.T) {
	for name, test := range map[string]struct {
		round mcp.InputRound
		says  string
	}{
		"responses are no JSON":   {mcp.InputRound{Responses: json.RawMessage(`{"a":1}}`)}, "inputResponses"},
		"responses are no object": {mcp.InputRound{Responses: json.RawMessage(`[]`)}, "inputResponses"},
		"state is no JSON":        {mcp.InputRound{State: json.RawMessage(`a`)}, "requestState"},
	} {
		for _, request := range inputRequests {
			t.Run(name+"/"+request.method, func(t *testing.T) {
				server := modern(t, mcptest.Script{request.method: mcptest.Result(request.result)})
				err := request.run(t.Context(), newClient(t, server, nil), &test.round)
				wantOutcome(t, err, mcp.NotSent)
				assert.Contains(t, err.Error(), test.says)
				wantCount(t, server, request.method, 0)
			})
		}
	}
}

// A server that only wants to be called again needs nothing of the caller.
func TestInputRoundOfABusyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t, mcptest.Script{"tools/call": mcptest.Sequence(needs("", `"s1"`), needs(`{"a":`+inputRequest+`}`, `"s2"`))})
		_, err := newClient(t, server, noHandler(t)).CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Input: &mcp.InputRound{}})
		need := assert.As[*mcp.InputRequiredError](t, err)
		assert.Equal(t, string(need.State), `"s2"`, "state")
		wantCount(t, server, "tools/call", 2)
	})
}

// A server of an older revision waits for the answer, which only a handler can give.
func TestInputRoundOfAnOlderServer(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": asking(question)})
	var log causeLog
	c := newClient(t, server, log.options())
	assert.OK(t, errOf(c.CallTool(t.Context(), "x", nil, &mcp.CallToolOptions{Input: &mcp.InputRound{}})))
	log.want(t, "true x")
}
