package mcp_test

import (
	"testing"

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
		res, err := c.GetPrompt(t.Context(), "a", map[string]string{"x": "1\n"}, nil)
		if err != nil {
			t.Fatal(err)
		}
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
