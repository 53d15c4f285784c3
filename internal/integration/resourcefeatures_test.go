//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func resourceFeatures() []feature {
	return []feature{
		{name: "resources", on: servers{
			"sdk": offers("test://static-text", "test://static-binary", "test://watched-resource"),
			"npm": offers("demo://resource/static/document/features.md"),
			"own": offers("features://about", "journal://all"),
		}},
		{name: "resource templates", on: servers{
			"sdk": offersTemplates("test://template/{id}/data"),
			"npm": offersTemplates("demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"),
			"own": offersTemplates("journal://entries/{number}"),
		}},
		{name: "resource of text", on: servers{
			"sdk": reads("test://static-text", "content of the static text resource"),
			"npm": reads("demo://resource/static/document/features.md", "# Everything Server"),
			"own": reads("features://about", "every feature of the protocol"),
		}},
		{name: "resource of bytes", on: servers{
			"sdk": reads("test://static-binary", "\x89PNG"),
			"npm": reads("demo://resource/dynamic/blob/3", "Resource 3"),
		}},
		{name: "resource of a template", on: servers{
			"sdk": reads("test://template/a%20b/data", `"templateTest": true`),
			"npm": reads("demo://resource/dynamic/text/3", "Resource 3"),
			"own": func(t *testing.T, p *peer) {
				p.tool(t, "append", `{"text":"first"}`, nil)
				reads("journal://entries/1", "first")(t, p)
			},
		}},
		// The SDK's servers leave an empty text out.
		{name: "empty resource", on: servers{"own": func(t *testing.T, p *peer) {
			var entry struct{ URI string }
			raw, _ := p.tool(t, "append", `{"text":""}`, nil).StructuredContent.(json.RawMessage)
			assert.OK(t, json.Unmarshal(raw, &entry))
			content := assert.Only(t, assert.Value(p.ReadResource(ctxFor(t), entry.URI, nil))(t).Contents)
			assert.Equal(t, content.Text+string(content.Blob), "", "the content")
		}}},
		{name: "missing resource", on: servers{
			"sdk": cannotRead("test://nothing"), "npm": cannotRead("demo://resource/nothing"), "own": cannotRead("journal://entries/999"),
		}},
		{name: "resource updates", on: servers{
			"sdk": updates("test://watched-resource", "", ""), // it changes by itself
			"npm": updates("demo://resource/static/document/features.md", "toggle-subscriber-updates", `{}`),
			"own": updates("journal://all", "append", `{"text":"news"}`),
		}},
		{name: "updates beside others", on: servers{"own": updatesBesideOthers}},
	}
}

func offers(uris ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		wantAll(t, list(t, p.Resources(ctxFor(t)), func(r *mcp.Resource) string { return r.URI }), uris)
	}
}

// wantAll looks for elements of a list.
func wantAll(t *testing.T, list, wanted []string) {
	t.Helper()
	for _, one := range wanted {
		assert.True(t, slices.Contains(list, one), "got %q, want %s among them", list, one)
	}
}

func offersTemplates(uris ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		wantAll(t, list(t, p.ResourceTemplates(ctxFor(t)), func(r *mcp.ResourceTemplate) string { return r.URITemplate }), uris)
	}
}

// list collects a list to its end.
func list[T any](t *testing.T, items iter.Seq2[T, error], name func(T) string) []string {
	t.Helper()
	var names []string
	for item, err := range items {
		assert.OK(t, err)
		names = append(names, name(item))
	}
	return names
}

func reads(uri, part string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		content := assert.Only(t, assert.Value(p.ReadResource(ctxFor(t), uri, nil))(t).Contents)
		assert.Equal(t, content.URI, uri, "the URI")
		want(t, content.Text+string(content.Blob), part)
	}
}

func cannotRead(uri string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		assert.As[*mcp.ServerError](t, assert.Err(p.ReadResource(ctxFor(t), uri, nil)))
	}
}

// updates waits for the server's promise to announce changes, has the resource
// change, and waits for the announcement.
func updates(uri, tool, args string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		ctx, cancel := context.WithCancel(ctxFor(t))
		defer cancel()
		seen := 0
		for changed, err := range p.ResourceUpdates(ctx, uri) {
			assert.OK(t, err)
			assert.Contains(t, changed, uri, "an update")
			if seen++; seen == 2 {
				break
			}
			if tool != "" {
				p.tool(t, tool, args, nil)
			}
		}
		assert.Equal(t, seen, 2, "updates")
		if tool == "toggle-subscriber-updates" {
			p.tool(t, tool, args, nil) // off again
		}
	}
}

// updatesBesideOthers follows a resource while other subscriptions come and go,
// each of which makes the client subscribe anew in the newest revision.
func updatesBesideOthers(t *testing.T, p *peer) {
	ctx, cancel := context.WithCancel(ctxFor(t))
	updated := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for _, err := range p.ResourceUpdates(ctx, "journal://all") {
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case updated <- struct{}{}:
			default:
			}
		}
	})
	for round := range 10 {
		for _, err := range p.ResourceUpdates(ctx, "features://about") {
			assert.Equal(t, err, nil)
			break
		}
		p.tool(t, "count", `{"to":1}`, nil) // the other subscription ends meanwhile
		select {
		case <-updated: // perhaps by the new subscription
		default:
		}
		p.tool(t, "append", `{"text":"news"}`, nil)
		select {
		case <-updated:
		case <-ctx.Done():
			t.Fatalf("round %d: no update", round)
		}
	}
}

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
				res := assert.Value(p.Complete(ctxFor(t), completion("ref/resource", "journal://entries/{number}", "number", ""), nil))(t)
				wantAll(t, res.Completion.Values, []string{"1"})
			},
		}},
		{name: "completion in context", on: servers{"npm": func(t *testing.T, p *peer) {
			params := completion("ref/prompt", "completable-prompt", "name", "")
			params.Context = &mcp.CompleteContext{Arguments: map[string]string{"department": "Sales"}}
			assert.Equal(t, fmt.Sprint(assert.Value(p.Complete(ctxFor(t), params, nil))(t).Completion.Values), "[David Eve Frank]")
		}}},
	}
}

func offersPrompts(names ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		wantAll(t, list(t, p.Prompts(ctxFor(t)), func(p *mcp.Prompt) string { return p.Name }), names)
	}
}

func prompts(name string, args map[string]string, parts ...string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		want(t, said(assert.Value(p.GetPrompt(ctxFor(t), name, args, nil))(t)), parts...)
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
		res := assert.Value(p.Complete(ctxFor(t), completion(kind, of, argument, value), nil))(t)
		assert.Equal(t, fmt.Sprint(res.Completion.Values), fmt.Sprint(suggested))
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
