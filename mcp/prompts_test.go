package mcp_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

func TestPrompts(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"prompts/list": mcptest.Result(
			`{"prompts":[{"name":"a","title":"A","description":"d","arguments":[{"name":"x","required":true},{"name":"y","REQUIRED":true}]}]}`)})
		got, err := collect(newClient(t, p.to(server), nil).Prompts(t.Context()))
		assert.OK(t, err)
		assert.Equal(t, len(got), 1)
		prompt := got[0]
		wantLen(t, prompt.Arguments, 2, "arguments")
		assert.Equal(t, [...]any{prompt.Name, prompt.Title, prompt.Arguments[0].Required, prompt.Arguments[1].Required},
			[...]any{"a", "A", true, false})
	})
}

func TestGetPrompt(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"prompts/get": mcptest.Result(
			`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"image","data":"AAE=","mimeType":"image/png"}}]}`)})
		c := newClient(t, p.to(server), nil)
		res := assert.Value(c.GetPrompt(t.Context(), "a", map[string]string{"x": "1\n"}, nil))(t)
		wantLen(t, res.Messages, 2, "messages")
		assert.Equal(t, [...]any{string(res.Messages[0].Role), res.Description}, [...]any{"user", "d"})
		assert.Equal(t, cast[*mcp.TextContent](t, res.Messages[0].Content).Text, "hi", "text")
		assert.Equal(t, len(cast[*mcp.ImageContent](t, res.Messages[1].Content).Data), 2, "data")
	})
}

func TestGetPromptArguments(t *testing.T) {
	server := featured(t, mcp.Revision20251125, mcptest.Script{"prompts/get": mcptest.Result(`{"messages":[]}`)})
	c := newClient(t, server, nil)
	for i, test := range []struct {
		args map[string]string
		want string
	}{
		{nil, `"name":"a\"é"}`},
		{map[string]string{}, `"name":"a\"é"}`},
		{map[string]string{"y": "2", "x": "a\"\n"}, `"name":"a\"é","arguments":{"x":"a\"\n","y":"2"}}`},
	} {
		assert.Value(c.GetPrompt(t.Context(), "a\"é", test.args, nil))(t)
		if params := string(server.Received("prompts/get")[i].Params); !strings.HasSuffix(params, test.want) {
			t.Errorf("params %s, want %s", params, test.want)
		}
	}
}

func TestGetPromptRefused(t *testing.T) {
	refuses(t, "prompts/get", func(c *mcp.Client) error {
		_, err := c.GetPrompt(t.Context(), "a", nil, nil)
		return err
	}, map[string]string{
		`7`: "result", `{}`: "messages", `{"messages":{}}`: "messages", `{"MESSAGES":[]}`: "messages", `{"messages":[],"description":7}`: "description",
		`{"messages":[7]}`:                                                                   "messages[0]",
		`{"messages":[{"role":"user"}]}`:                                                     "messages[0].content",
		`{"messages":[{"content":{"type":"text","text":"x"}}]}`:                              "messages[0].role",
		`{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`:              "messages[0].role",
		`{"messages":[{"role":7,"content":{"type":"text","text":"x"}}]}`:                     "messages[0].role",
		`{"messages":[{"role":"user","content":"x"}]}`:                                       "messages[0].content",
		`{"messages":[{"role":"user","content":[]}]}`:                                        "messages[0].content",
		`{"messages":[{"role":"user","content":{"text":"x"}}]}`:                              "messages[0].content.type",
		`{"messages":[{"role":"user","content":{"type":"text","text":7}}]}`:                  "messages[0].content.text",
		`{"messages":[{"role":"user","content":{"type":"image","data":"%"}}]}`:               "messages[0].content.data",
		`{"messages":[{"role":"user","content":{"type":"resource","resource":{"text":7}}}]}`: "messages[0].content.resource.text",
		`{"messages":[],"resultType":"later"}`:                                               "resultType",
	}, `{"messages":[]}`)
}

func TestGetPromptInput(t *testing.T) {
	everyPlane(t, func(t *testing.T, p plane) {
		server := featured(t, mcp.Revision20260728, mcptest.Script{"prompts/get": mcptest.Sequence(
			needs(`{"q":`+inputRequest+`}`, `"s"`), mcptest.Result(`{"messages":[{"role":"user","content":{"type":"new","x":1}}]}`))})
		res, err := newClient(t, p.to(server), &mcp.ClientOptions{Elicit: annAnswers}).GetPrompt(t.Context(), "a", nil, nil)
		assert.OK(t, err)
		assert.Equal(t, len(res.Messages), 1, "messages")
		assert.Equal(t, cast[*mcp.TextContent](t, res.Messages[0].Content).Text, `{"type":"new","x":1}`, "text")
	})
}
