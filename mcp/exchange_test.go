package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
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

func annAnswers(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return accept(map[string]any{"name": "Ann"}), nil
}

func TestInputRequired(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		const state = `"a\u0041 é\"x"`
		server, c := p.withClient(t, modern(t, mcptest.Script{"tools/call": mcptest.Sequence(
			needs(`{"q 1":`+inputRequest+`,"q\"2":`+inputRequest+`}`, state),
			needs(`{"q3":`+inputRequest+`}`, ""),
			text("done"),
		)}), &mcp.ClientOptions{Elicit: annAnswers})
		assert.Equal(t, textOf(t, assert.Value(c.CallTool(t.Context(), "x", json.RawMessage(`{"a":1}`), nil))(t)), "done", "result")
		const ann = `{"action":"accept","content":{"name":"Ann"}}`
		for i, want := range [][4]string{
			{`"x"`, `{"a":1}`, "", ""},
			{`"x"`, `{"a":1}`, `{"q 1":` + ann + `,"q\"2":` + ann + `}`, state},
			{`"x"`, `{"a":1}`, `{"q3":` + ann + `}`, ""},
		} {
			for j, member := range []string{"name", "arguments", "inputResponses", "requestState"} {
				assert.Equal(t, memberOf(t, server.Received("tools/call")[i].Params, member), want[j], "round %d: %s", i+1, member)
			}
		}
	})
}

// A server that only wants to be asked again gets some time, and not for ever.
func TestServerBusy(t *testing.T) {
	for _, requests := range []string{"", "{}", "null"} {
		synctest.Test(t, func(t *testing.T) {
			busy := needs(requests, `"s"`)
			server, c := withReady(t, modern(t, mcptest.Script{"tools/call": mcptest.Sequence(busy, busy, busy, text("done"), busy)}), nil)
			start := time.Now()
			assert.Equal(t, textOf(t, mustCall(t, c, "x")), "done", "result")
			assert.Equal(t, time.Since(start), 1400*time.Millisecond, "it took")
			_, err := call(t, c, "x")
			wantInvalid(t, err, "", "inputRequests")
			wantCount(t, server, "tools/call", 8)

			_, err = c.CallTool(within(t, 100*time.Millisecond), "x", nil, nil)
			wantOutcome(t, err, mcp.Answered)
			assert.Is(t, err, context.DeadlineExceeded)
		})
	}
}

func TestInputThatCannotBeGiven(t *testing.T) {
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
		{"handler fails", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, errDown }, "", errDown.Error(), 1},
		{"handler panics", `{"a":` + inputRequest + `}`, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("oops") }, "", "oops", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, c := withClient(t, modern(t, mcptest.Script{"tools/call": needs(test.requests, "")}), &mcp.ClientOptions{Elicit: test.elicit})
			_, err := call(t, c, "x")
			wantOutcome(t, err, mcp.Answered)
			assert.Contains(t, err.Error(), test.says)
			assert.Contains(t, err.Error(), `"scripted"`)
			if test.path != "" {
				wantInvalid(t, err, "", test.path)
			}
			assert.Equal(t, errors.Is(err, errDown), test.name == "handler fails", "the handler's error")
			wantCount(t, server, "tools/call", test.calls)
		})
	}
}

// What the server has begun and not finished is not "not sent".
func TestSecondRoundNotSent(t *testing.T) {
	server := modern(t, mcptest.Script{"tools/call": needs(`{"a":`+inputRequest+`}`, "")})
	c := newClient(t, server, &mcp.ClientOptions{Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		server.Down(errDown)
		server.Disconnect()
		return annAnswers(ctx, r)
	}})
	err := assert.Err(call(t, c, "x"))
	assert.Fails(t, err)
	assert.False(t, mcp.SafeToRetry(err), "error %v would be repeated", err)
}

// A handler that waits in the middle of a call ends with the call's time, with
// the client, and not with the beginning of Shutdown.
func TestInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t, mcptest.Script{"tools/call": needs(`{"a":`+inputRequest+`}`, "")})
		c := newReady(t, server, &mcp.ClientOptions{Elicit: waits, CallTimeout: time.Minute})
		start := time.Now()
		assert.Is(t, assert.Err(call(t, c, "x")), context.DeadlineExceeded)
		assert.Equal(t, time.Since(start), time.Minute, "time")
		ended := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		synctest.Wait()
		assert.OK(t, c.Close())
		assert.Is(t, <-ended, mcp.ErrClosed)
	})
}

func TestShutdownWaitsForInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t, mcptest.Script{"tools/call": mcptest.Sequence(needs(`{"a":`+inputRequest+`}`, ""), text("done"))})
		c := newClient(t, server, &mcp.ClientOptions{Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			pause(time.Minute)
			return annAnswers(ctx, r)
		}})
		ended := inBackground(func() error { return assert.Err(call(t, c, "x")) })
		synctest.Wait()
		assert.OK(t, c.Shutdown(t.Context()))
		assert.OK(t, <-ended, "the call failed")
	})
}

// inputRequests are the requests that can need input, made with a round of the caller's.
var inputRequests = []struct {
	method, tool, result string
	run                  func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error
}{
	{"tools/call", "x", `{"content":[]}`, func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error {
		return assert.Err(c.CallTool(ctx, "x", json.RawMessage(`{"a":1}`), &mcp.RequestOptions{Input: round}))
	}},
	{"prompts/get", "", `{"messages":[]}`, func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error {
		return assert.Err(c.GetPrompt(ctx, "x", nil, &mcp.RequestOptions{Input: round}))
	}},
	{"resources/read", "", `{"contents":[],"ttlMs":60000,"cacheScope":"public"}`, func(ctx context.Context, c *mcp.Client, round *mcp.InputRound) error {
		return assert.Err(c.ReadResource(ctx, "a:x", &mcp.RequestOptions{Input: round}))
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
				var traced tracerLog
				opts := noHandler(t)
				opts.Tracer = &traced
				err := test.run(t.Context(), newClient(t, p.to(server), opts), &mcp.InputRound{})
				need := assert.As[*mcp.InputRequiredError](t, err)
				assert.Equal(t, string(need.Requests), requests, "requests")
				assert.Equal(t, string(need.State), state, "state")
				wantOutcome(t, err, mcp.Answered)
				text := err.Error()
				assert.Contains(t, text, `"scripted": `+strings.TrimSpace(test.method+" "+test.tool))
				assert.Lacks(t, text, "Who")
				assert.Lacks(t, text, "é")
				wantCount(t, server, test.method, 1)
				r := traced.of(test.method)
				wantLen(t, r, 1, "traced requests")
				assert.OK(t, r[0].Err, "traced")
				assert.Contains(t, string(r[0].Result), "input_required", "the traced result")

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
		_, err := newClient(t, server, noHandler(t)).CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Input: &mcp.InputRound{}})
		assert.Equal(t, string(assert.As[*mcp.InputRequiredError](t, err).State), `"s2"`, "state")
		wantCount(t, server, "tools/call", 2)
	})
}

// A server of an older revision waits for the answer, which only a handler can give.
func TestInputRoundOfAnOlderServer(t *testing.T) {
	log, c := withRequestLog(t, legacy(t, mcptest.Script{"tools/call": asking(question)}))
	assert.Value(c.CallTool(t.Context(), "x", nil, &mcp.RequestOptions{Input: &mcp.InputRound{}}))(t)
	log.want(t, "true x")
}

// Calls at one time, each of which is asked for input several times: what one is
// asked, and the state of the server, never gets into another, and each round is
// a request of its own.
func TestInputOfEachCall(t *testing.T) {
	const calls, rounds = 8, 3
	var meet sync.WaitGroup // the first rounds are under way together
	meet.Add(calls)
	s := newWebServer(t, mcp.Revision20260728, nil)
	s.script["tools/call"] = func(v *webRequest) {
		var params struct {
			Name           string
			InputResponses map[string]struct{ Content struct{ Name string } }
			RequestState   string
		}
		assert.Is(t, json.Unmarshal(v.Params, &params), nil)
		round := 0
		if params.RequestState == "" {
			meet.Done()
			meet.Wait()
		} else {
			assert.Is(t, assert.Err(fmt.Sscanf(params.RequestState, params.Name+" %d", &round)), nil)
			want := fmt.Sprintf("%s %d", params.Name, round)
			assert.Equal(t, len(params.InputResponses), 1, "inputs")
			assert.Equal(t, params.InputResponses[want].Content.Name, want, "the input")
		}
		if round == rounds {
			v.reply(200, fmt.Sprintf(`"result":{"resultType":"complete","content":[{"type":"text","text":%q}]}`, params.Name))
			return
		}
		next := fmt.Sprintf("%s %d", params.Name, round+1)
		v.reply(200, fmt.Sprintf(`"result":{"resultType":"input_required","inputRequests":{%q:%s},"requestState":%q}`,
			next, strings.Replace(inputRequest, "Who?", next, 1), next))
	}
	c := newReady(t, &s.HTTP, &mcp.ClientOptions{Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return accept(map[string]any{"name": r.Params.Message}), nil
	}})
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			tool := fmt.Sprintf("tool_%d", i)
			assert.Equal(t, textOf(t, mustCall(t, c, tool)), tool)
		})
	}
	all.Wait()
	ids := map[string]bool{}
	for _, v := range s.of("tools/call") {
		ids[string(v.ID)] = true
	}
	want := calls * (rounds + 1)
	assert.Equal(t, [...]any{len(ids), len(s.of("tools/call"))}, [...]any{want, want})
}
