package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

const question = `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

func accept(content map[string]any) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: content}
}

// asking answers a call of a tool with what the client answered to a question.
func asking(params string) mcptest.Handler {
	return func(c *mcptest.Call) {
		answer, err := c.Ask("elicitation/create", params)
		if err != nil {
			answer, _ = json.Marshal(err)
		}
		quoted, _ := json.Marshal(string(answer))
		c.Result(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
	}
}

func TestElicit(t *testing.T) {
	schema := func(properties string) string {
		return `{"message":"Who?","requestedSchema":{"type":"object","properties":` + properties + `}}`
	}
	for _, test := range []struct {
		name   string
		params string
		answer *mcp.ElicitResult
		err    error
		want   string
	}{
		{"accepted", question, accept(map[string]any{"name": "Ann"}), nil, `{"action":"accept","content":{"name":"Ann"}}`},
		{"declined", question, &mcp.ElicitResult{Action: "decline", Content: map[string]any{"name": "Ann"}}, nil, `{"action":"decline"}`},
		{"cancelled", question, nil, nil, `{"action":"cancel"}`},
		{"no action", question, &mcp.ElicitResult{}, nil, `{"action":"cancel"}`},
		{"defaults", schema(`{"a":{"type":"string","default":"x"},"b":{"type":"integer","default":7},"c":{"type":"boolean"}}`),
			accept(map[string]any{"a": "y"}), nil, `{"action":"accept","content":{"a":"y","b":7}}`},
		{"missing", question, accept(nil), nil, `lacks \"name\"`},
		{"string", question, accept(map[string]any{"name": 7}), nil, `not of type string`},
		{"integer", schema(`{"a":{"type":"integer"}}`), accept(map[string]any{"a": 1.5}), nil, `not of type integer`},
		{"number", schema(`{"a":{"type":"number"}}`), accept(map[string]any{"a": "1"}), nil, `not of type number`},
		{"boolean", schema(`{"a":{"type":"boolean"}}`), accept(map[string]any{"a": "true"}), nil, `not of type boolean`},
		{"array", schema(`{"a":{"type":"array"}}`), accept(map[string]any{"a": 1}), nil, `not of type array`},
		{"all right", schema(`{"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"boolean"},"d":{"type":"array"}}`),
			accept(map[string]any{"a": -1, "b": 1.5, "c": false, "d": []string{"x"}}), nil, `{"action":"accept","content":{"a":-1,"b":1.5,"c":false,"d":["x"]}}`},
		{"no JSON", question, accept(map[string]any{"name": func() {}}), nil, `is no JSON value`},
		{"endless schema", `{"message":"","requestedSchema":{"$ref":"#"}}`, accept(map[string]any{"a": 1}), nil, `{"action":"accept","content":{"a":1}}`},
		{"endless property", schema(`{"a":{"$ref":"#"}}`), nil, nil, `must have a simple type`},
		{"nested schema", schema(`{"a":{"type":"object"}}`), nil, nil, `must have a simple type`},
		{"schema of a list", `{"message":"","requestedSchema":{"type":"array"}}`, nil, nil, `must be object`},
		{"no schema at all", `{"message":"","requestedSchema":[1]}`, nil, nil, `params.requestedSchema: not an object`},
		{"undeclared mode", `{"mode":"url","message":"","url":"http://127.0.0.1/","elicitationId":"1"}`, nil, nil, `mode \"url\" was not declared`},
		{"error", question, nil, errors.New("the secret is 42"), `"code":-32603`},
		{"error for the server", question, nil, &mcp.JSONRPCError{Code: -32000, Message: "go away"}, `"code":-32000,"message":"go away"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := legacy(t, mcptest.Script{"tools/call": asking(test.params)})
			c := newClient(t, server, &mcp.ClientOptions{
				Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if r.Server != "scripted" || r.Params == nil {
						t.Errorf("request %+v", r)
					}
					return test.answer, test.err
				},
			})
			got := textOf(t, mustCall(t, c, "x"))
			if !strings.Contains(got, test.want) || strings.Contains(got, "secret") {
				t.Errorf("the server got %s, want %s", got, test.want)
			}
		})
	}
}

func TestElicitDeclared(t *testing.T) {
	for _, can := range []bool{false, true} {
		everywhere(t, func(t *testing.T, revision string, p plane) {
			answer := asking(question)
			if revision == mcp.Revision20260728 {
				answer = text("no")
			}
			server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": answer})
			opts := &mcp.ClientOptions{}
			if can {
				opts.Elicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return accept(map[string]any{"name": "Ann"}), nil
				}
			}
			c := newClient(t, p.to(server), opts)
			got := textOf(t, mustCall(t, c, "x"))
			var params []byte
			if revision == mcp.Revision20260728 {
				params = server.Received("tools/call")[0].Params
			} else {
				params = server.Received("initialize")[0].Params
				if strings.Contains(got, "error") || strings.Contains(got, "accept") != can {
					t.Errorf("answer %s", got)
				}
			}
			if strings.Contains(string(params), `"elicitation":{"form":{}}`) != can {
				t.Errorf("declared by %s", params)
			}
			for _, other := range []string{"sampling", "roots"} {
				if strings.Contains(string(params), other) {
					t.Errorf("%s declared by %s", other, params)
				}
			}
		})
	}
}

func TestElicitPanics(t *testing.T) {
	server := legacy(t, mcptest.Script{"tools/call": asking(question)})
	c := newClient(t, server, &mcp.ClientOptions{
		Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("oops") },
	})
	if got := textOf(t, mustCall(t, c, "x")); !strings.Contains(got, "-32603") || strings.Contains(got, "oops") {
		t.Errorf("the server got %s", got)
	}
	wantPhase(t, c, mcp.Ready)
}

// The number of questions at one time is bounded.
func TestElicitFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": asking(question)})
		release := make(chan struct{})
		c := newClient(t, server, &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				<-release
				return nil, nil
			},
		})
		answers := make(chan string, 20)
		for range 20 {
			go func() { answers <- textOf(t, mustCall(t, c, "x")) }()
		}
		synctest.Wait()
		if n := len(answers); n != 4 {
			t.Errorf("%d of 20 questions were refused, want 4", n)
		}
		for range len(answers) {
			if got := <-answers; !strings.Contains(got, "more than 16") {
				t.Errorf("the server got %s", got)
			}
		}
		close(release)
		for range 16 {
			if got := <-answers; !strings.Contains(got, "cancel") {
				t.Errorf("the server got %s", got)
			}
		}
	})
}
