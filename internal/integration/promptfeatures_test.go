//go:build integration && unix

package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// promptFeatures are those of prompts and of completion.
func promptFeatures() []feature {
	return []feature{
		{name: "prompts", on: servers{
			"sdk": offersPrompts("test_simple_prompt", "test_prompt_with_arguments"),
			"npm": offersPrompts("simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"),
			"own": offersPrompts("review"),
		}},
		{name: "prompt", on: servers{
			"sdk": prompts("test_simple_prompt", nil, "simple prompt for testing"),
			"npm": prompts("simple-prompt", nil, "without arguments"),
		}},
		{name: "prompt with arguments", on: servers{
			"sdk": prompts("test_prompt_with_arguments", map[string]string{"arg1": "one", "arg2": "two"}, "arg1='one', arg2='two'"),
			"npm": prompts("args-prompt", map[string]string{"city": "Lima", "state": "LIM"}, "weather in Lima, LIM"),
			"own": prompts("review", map[string]string{"topic": "style"}, "Look at style. Answer in English."),
		}},
		{name: "prompt with a resource", on: servers{
			"sdk": prompts("test_prompt_with_embedded_resource", map[string]string{"resourceUri": "test://r"}, "[test://r]"),
			"npm": prompts("resource-prompt", map[string]string{"resourceType": "Text", "resourceId": "5"}, "[demo://resource/dynamic/text/5]", "Resource 5"),
			"own": prompts("review", map[string]string{"topic": "style"}, "[journal://all]"),
		}},
		{name: "prompt with an image", on: servers{
			"sdk": prompts("test_prompt_with_image", nil, "[image/png]"),
		}},
		{name: "completion of an argument", on: servers{
			"sdk": completes("ref/prompt", "test_prompt_with_arguments", "arg1", "x"),
			"npm": completes("ref/prompt", "completable-prompt", "department", "S", "Sales", "Support"),
			"own": completes("ref/prompt", "review", "language", "es", "Español", "Esperanto"),
		}},
		{name: "completion of a variable", on: servers{
			"npm": completes("ref/resource", "demo://resource/dynamic/text/{resourceId}", "resourceId", "12", "12"),
			"own": func(t *testing.T, p *peer) {
				p.tool(t, "append", `{"text":"one more"}`, nil)
				res, err := p.Complete(ctxFor(t), completion("ref/resource", "journal://entries/{number}", "number", ""), nil)
				if err != nil || !slices.Contains(res.Completion.Values, "1") {
					t.Errorf("%+v, %v", res, err)
				}
			},
		}},
		{name: "completion in context", on: servers{"npm": func(t *testing.T, p *peer) {
			params := completion("ref/prompt", "completable-prompt", "name", "")
			params.Context = &mcp.CompleteContext{Arguments: map[string]string{"department": "Sales"}}
			res, err := p.Complete(ctxFor(t), params, nil)
			if err != nil || !slices.Equal(res.Completion.Values, []string{"David", "Eve", "Frank"}) {
				t.Errorf("%+v, %v", res, err)
			}
		}}},
	}
}

func offersPrompts(names ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		listed := list(t, p.Prompts(ctxFor(t)), func(p *mcp.Prompt) string { return p.Name })
		for _, name := range names {
			if !slices.Contains(listed, name) {
				t.Errorf("%s is not among %q", name, listed)
			}
		}
	}
}

func prompts(name string, args map[string]string, parts ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		res := assert.Value(p.GetPrompt(ctxFor(t), name, args, nil))(t)
		want(t, said(res), parts...)
	}
}

// said returns what the messages of a prompt contain.
func said(res *mcp.GetPromptResult) string {
	var b strings.Builder
	for _, m := range res.Messages {
		switch c := m.Content.(type) {
		case *mcp.TextContent:
			b.WriteString(c.Text)
		case *mcp.ImageContent:
			b.WriteString("[" + c.MIMEType + "]")
		case *mcp.EmbeddedResource:
			b.WriteString("[" + c.Resource.URI + "]" + c.Resource.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func completes(kind, of, argument, value string, suggested ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		res, err := p.Complete(ctxFor(t), completion(kind, of, argument, value), nil)
		if err != nil || !slices.Equal(res.Completion.Values, suggested) {
			t.Errorf("%+v, %v, want %q", res, err, suggested)
		}
	}
}

func completion(kind, of, argument, value string) *mcp.CompleteParams {
	params := &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: kind}}
	if kind == "ref/prompt" {
		params.Ref.Name = of
	} else {
		params.Ref.URI = of
	}
	params.Argument.Name, params.Argument.Value = argument, value
	return params
}
