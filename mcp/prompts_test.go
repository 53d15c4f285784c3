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
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		prompt := got[0]
		if prompt.Name != "a" || prompt.Title != "A" || len(prompt.Arguments) != 2 || !prompt.Arguments[0].Required || prompt.Arguments[1].Required {
			t.Errorf("prompt %+v", prompt)
		}
	})
}

func TestGetPrompt(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"prompts/get": mcptest.Result(
			`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"image","data":"AAE=","mimeType":"image/png"}}]}`)})
		c := newClient(t, p.to(server), nil)
		res := assert.Value(c.GetPrompt(t.Context(), "a", map[string]string{"x": "1\n"}, nil))(t)
		if len(res.Messages) != 2 || res.Messages[0].Role != "user" || res.Description != "d" {
			t.Errorf("result %+v", res)
		}
		if text, ok := res.Messages[0].Content.(*mcp.TextContent); !ok || text.Text != "hi" {
			t.Errorf("content %+v", res.Messages[0].Content)
		}
		if image, ok := res.Messages[1].Content.(*mcp.ImageContent); !ok || len(image.Data) != 2 {
			t.Errorf("content %+v", res.Messages[1].Content)
		}
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
		if err != nil || len(res.Messages) != 1 {
			t.Fatal(res, err)
		}
		if text, ok := res.Messages[0].Content.(*mcp.TextContent); !ok || text.Text != `{"type":"new","x":1}` {
			t.Errorf("content of a kind that is not known: %+v", res.Messages[0].Content)
		}
	})
}
