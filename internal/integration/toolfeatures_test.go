//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// toolFeatures are those of tools and their results.
func toolFeatures() []feature {
	return []feature{
		{name: "tools", on: servers{
			"sdk": lists("test_simple_text"), "npm": lists("echo"), "own": lists("measure"),
		}},
		{name: "text", on: servers{
			"sdk": func(t *testing.T, p *peer) { p.says(t, "test_simple_text", `{}`, "simple text response") },
			"npm": func(t *testing.T, p *peer) { p.says(t, "echo", `{"message":"häl\u0000lo"}`, "häl\x00lo") },
			"own": func(t *testing.T, p *peer) { p.says(t, "count", `{"to":1}`, "counted to 1") },
		}},
		{name: "tool error", on: servers{
			"sdk": failing("test_error_handling", `{}`),
			"npm": failing("get-sum", `{"a":"x"}`),
			"own": failing("count", `{"to":1000}`),
		}},
		{name: "structured content", on: servers{
			"npm": structured("get-structured-content", `{"location":"Chicago"}`, `"humidity"`),
			"own": structured("measure", `{"text":"one two"}`, `"words":2`),
		}},
		{name: "image", on: servers{
			"sdk": image("test_image_content"), "npm": image("get-tiny-image"),
		}},
		{name: "audio", on: servers{"sdk": func(t *testing.T, p *peer) {
			for _, c := range p.tool(t, "test_audio_content", `{}`, nil).Content {
				if a, ok := c.(*mcp.AudioContent); ok && a.MIMEType == "audio/wav" && strings.HasPrefix(string(a.Data), "RIFF") {
					return
				}
			}
			t.Error("no sound")
		}}},
		{name: "embedded resource", on: servers{
			"sdk": func(t *testing.T, p *peer) {
				want(t, string(embedded(t, p.tool(t, "test_embedded_resource", `{}`, nil))), "embedded resource")
			},
			"npm": func(t *testing.T, p *peer) {
				for _, kind := range []string{"Text", "Blob"} {
					res := p.tool(t, "get-resource-reference", `{"resourceType":"`+kind+`","resourceId":7}`, nil)
					want(t, string(embedded(t, res)), "Resource 7")
				}
			},
		}},
		{name: "resource link", on: servers{"npm": func(t *testing.T, p *peer) {
			links := 0
			for _, c := range p.tool(t, "get-resource-links", `{"count":4}`, nil).Content {
				link, ok := c.(*mcp.ResourceLink)
				if !ok {
					continue
				}
				links++
				if res, err := p.ReadResource(ctxFor(t), link.URI, nil); err != nil || len(res.Contents) != 1 {
					t.Errorf("%s: %v, %v", link.URI, res, err)
				}
			}
			assert.Equal(t, links, 4, "links")
		}}},
		{name: "annotations", on: servers{"npm": func(t *testing.T, p *peer) {
			content := p.tool(t, "get-annotated-message", `{"messageType":"error","includeImage":true}`, nil).Content
			if len(content) != 2 {
				t.Fatalf("content %v", content)
			}
			words, _ := content[0].(*mcp.TextContent)
			picture, _ := content[1].(*mcp.ImageContent)
			if words == nil || words.Annotations == nil || words.Annotations.Priority != 1 || len(words.Annotations.Audience) != 2 {
				t.Errorf("text %+v", words)
			}
			if picture == nil || picture.Annotations == nil || picture.Annotations.Priority != 0.5 {
				t.Errorf("image %+v", picture)
			}
		}}},
		{name: "parameter headers", on: servers{"sdk": func(t *testing.T, p *peer) {
			if _, err := p.Tools(ctxFor(t)); err != nil { // the schema asks for the header
				t.Fatal(err)
			}
			p.says(t, "test_x_mcp_header", `{"region":"eu-wést","level":2}`, "region=eu-wést")
		}}},
		{name: "progress", on: servers{
			"sdk": progress("test_tool_with_progress", `{}`, 3),
			"npm": progress("trigger-long-running-operation", `{"duration":0.2,"steps":4}`, 4),
			"own": progress("count", `{"to":5}`, 5),
		}},
		{name: "cancellation", on: servers{
			"npm": cancelled("trigger-long-running-operation", `{"duration":20,"steps":100}`),
			"own": cancelled("count", `{"to":100}`),
		}},
	}
}

func lists(name string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		if p.listed(t, name) == nil {
			t.Errorf("tool %s is not listed", name)
		}
	}
}

// listed returns a tool that the server offers, or nil.
func (p *peer) listed(t *testing.T, name string) *mcp.Tool {
	t.Helper()
	tools := assert.Value(p.Tools(ctxFor(t)))(t)
	for _, tool := range tools {
		if tool.Name == name {
			return tool
		}
	}
	return nil
}

func failing(name, args string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		res, err := p.CallTool(ctxFor(t), name, json.RawMessage(args), nil)
		if err != nil || !res.IsError || text(res) == "" {
			t.Errorf("%+v, %v", res, err)
		}
	}
}

func structured(name, args, part string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		tool := p.listed(t, name)
		if tool == nil || tool.OutputSchema == nil {
			t.Fatalf("tool %+v has no output schema", tool)
		}
		raw, _ := p.tool(t, name, args, nil).StructuredContent.(json.RawMessage)
		if !json.Valid(raw) {
			t.Fatalf("structured content %q", raw)
		}
		want(t, string(raw), part)
	}
}

func image(name string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		for _, c := range p.tool(t, name, `{}`, nil).Content {
			if i, ok := c.(*mcp.ImageContent); ok && i.MIMEType == "image/png" && strings.HasPrefix(string(i.Data), "\x89PNG") {
				return
			}
		}
		t.Error("no image")
	}
}

// embedded returns the contents of the only resource in a result.
func embedded(t *testing.T, res *mcp.CallToolResult) []byte {
	t.Helper()
	var found []*mcp.ResourceContents
	for _, c := range res.Content {
		if r, ok := c.(*mcp.EmbeddedResource); ok {
			found = append(found, r.Resource)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d resources, want 1", len(found))
	}
	if found[0].Blob != nil {
		return found[0].Blob
	}
	return []byte(found[0].Text)
}

func progress(name, args string, steps int) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		var seen []float64
		p.tool(t, name, args, &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) { seen = append(seen, p.Progress) }})
		if len(seen) != steps {
			t.Errorf("progress %v, want %d reports", seen, steps)
		}
	}
}

// cancelled cancels a call when it is under way, and sees that the connection
// does not suffer.
func cancelled(name, args string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		before := p.State().Connections
		ctx, cancel := context.WithCancel(ctxFor(t))
		defer cancel()
		_, err := p.CallTool(ctx, name, json.RawMessage(args), &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if _, err := p.Tools(ctxFor(t)); err != nil {
			t.Errorf("after it: %v", err)
		}
		if after := p.State().Connections; after != before {
			t.Errorf("%d connections, before it %d", after, before)
		}
	}
}
