package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		answerText(c, string(answer))
	}
}

func TestElicit(t *testing.T) {
	schema := func(properties string) string {
		return `{"message":"Who?","requestedSchema":{"type":"object","properties":` + properties + `}}`
	}
	for _, test := range []struct {
		name, params string
		answer       *mcp.ElicitResult
		err          error
		want         string
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
		{"no schema at all", `{"message":"","requestedSchema":[1]}`, nil, nil, `params.requestedSchema: got an array, want an object`},
		{"undeclared mode", `{"mode":"url","message":"","url":"http://127.0.0.1/","elicitationId":"1"}`, nil, nil, `mode \"url\" was not declared`},
		{"error", question, nil, errors.New("the secret is 42"), `"code":-32603`},
		{"error for the server", question, nil, &mcp.JSONRPCError{Code: -32000, Message: "go away"}, `"code":-32000,"message":"go away"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, legacy(t, mcptest.Script{"tools/call": asking(test.params)}), &mcp.ClientOptions{
				Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					assert.Equal(t, [...]any{r.Server, r.Params == nil}, [...]any{"scripted", false})
					return test.answer, test.err
				},
			})
			got := textOf(t, mustCall(t, c, "x"))
			assert.Contains(t, got, test.want)
			assert.Lacks(t, got, "secret")
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
				opts.Elicit = annAnswers
			}
			c := newClient(t, p.to(server), opts)
			got := textOf(t, mustCall(t, c, "x"))
			var params []byte
			if revision == mcp.Revision20260728 {
				params = server.Received("tools/call")[0].Params
			} else {
				params = server.Received("initialize")[0].Params
				assert.Lacks(t, got, "error")
				assert.Equal(t, strings.Contains(got, "accept"), can, "contains accept")
			}
			assert.Equal(t, strings.Contains(string(params), `"elicitation":{"form":{}}`), can, "contains \"elicitation\":{\"form\":{}}")
			assert.LacksAll(t, string(params), "sampling", "roots")
		})
	}
}

func TestElicitPanics(t *testing.T) {
	c := newClient(t, legacy(t, mcptest.Script{"tools/call": asking(question)}), &mcp.ClientOptions{
		Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("oops") },
	})
	got := textOf(t, mustCall(t, c, "x"))
	assert.Contains(t, got, "-32603")
	assert.Lacks(t, got, "oops")
	wantPhase(t, c, mcp.Ready)
}

// The number of questions at one time is bounded.
func TestElicitFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t, mcptest.Script{"tools/call": asking(question)})
		release := make(chan struct{})
		c := newClient(t, server, &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-release
			return nil, nil
		}})
		answers := make(chan string, 20)
		for range 20 {
			go func() { answers <- textOf(t, mustCall(t, c, "x")) }()
		}
		synctest.Wait()
		assert.Equal(t, len(answers), 4, "of 20 questions were refused")
		for range len(answers) {
			assert.Contains(t, <-answers, "more than 16", "the server")
		}
		close(release)
		for range 16 {
			assert.Contains(t, <-answers, "cancel", "the server")
		}
	})
}

// A form comes through unchanged in both revisions, and its answer goes back filled.
func TestFormEverywhere(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		got := assert.Value(granted(t, revision, p, &mcp.ClientOptions{Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			value, err := r.Form.Fields[1].Parse("2")
			return accept(map[string]any{r.Form.Fields[1].Name: value}), err
		}}, "elicitation/create", `{"message":"?","requestedSchema":{"type":"object","properties":{"b":{"type":"boolean","default":true},"a":{"type":"string","enum":["x","y"]}}}}`))(t)
		assert.Equal(t, got, `{"action":"accept","content":{"a":"y","b":true}}`)
	})
}

// A form that no user could be shown is refused before anybody is asked, and one that
// asks for a secret is marked.
func TestFormRefused(t *testing.T) {
	ask := func(schema string) (asked *mcp.ElicitRequest, err error) {
		_, err = granted(t, mcp.Revision20251125, planes()[0], &mcp.ClientOptions{
			Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked = r
				return nil, nil
			},
		}, "elicitation/create", `{"message":"","requestedSchema":`+schema+`}`)
		return asked, err
	}
	for _, test := range []struct{ schema, want string }{
		{`{"type":"array"}`, "must be object"},
		{`{"$ref":"https://a.example/schema"}`, "$ref"},
		{`{"properties":{"f":{"type":"string","$ref":"#/x"}}}`, `field "f" must have a simple type, not a $ref`},
	} {
		asked, err := ask(test.schema)
		assert.True(t, asked == nil, "%s: nobody is asked", test.schema)
		refused := assert.As[*mcp.JSONRPCError](t, err, "%s", test.schema)
		assert.Equal(t, refused.Code, -32602, "%s: code", test.schema)
		assert.Contains(t, refused.Message, test.want, "%s", test.schema)
	}
	asked := assert.Value(ask(`{"properties":{"password":{"type":"string"}}}`))(t)
	assert.Equal(t, [...]any{asked.Form.Fields[0].Secret, len(asked.Form.Warnings())}, [...]any{true, 1})
}
