//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"fmt"
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
			"sdk": media("test_image_content", "image/png", "\x89PNG"), "npm": media("get-tiny-image", "image/png", "\x89PNG"),
		}},
		{name: "audio", on: servers{"sdk": media("test_audio_content", "audio/wav", "RIFF")}},
		{name: "embedded resource", on: servers{
			"sdk": func(t *testing.T, p *peer) {
				want(t, embedded(t, p.tool(t, "test_embedded_resource", `{}`, nil)), "embedded resource")
			},
			"npm": func(t *testing.T, p *peer) {
				for _, kind := range []string{"Text", "Blob"} {
					want(t, embedded(t, p.tool(t, "get-resource-reference", `{"resourceType":"`+kind+`","resourceId":7}`, nil)), "Resource 7")
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
				assert.Only(t, assert.Value(p.ReadResource(ctxFor(t), link.URI, nil))(t).Contents)
			}
			assert.Equal(t, links, 4, "links")
		}}},
		{name: "annotations", on: servers{"npm": func(t *testing.T, p *peer) {
			content := p.tool(t, "get-annotated-message", `{"messageType":"error","includeImage":true}`, nil).Content
			assert.Equal(t, len(content), 2, "content")
			words, picture := content[0].(*mcp.TextContent).Annotations, content[1].(*mcp.ImageContent).Annotations
			assert.Equal(t, fmt.Sprint(words.Priority, len(words.Audience), picture.Priority), "1 2 0.5", "the priorities and the audience")
		}}},
		{name: "parameter headers", on: servers{"sdk": func(t *testing.T, p *peer) {
			assert.Value(p.Tools(ctxFor(t)))(t) // the schema asks for the header
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
	return func(t *testing.T, p *peer) { assert.True(t, p.listed(t, name) != nil, "%s is listed", name) }
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
		res := assert.Value(p.CallTool(ctxFor(t), name, json.RawMessage(args), nil))(t)
		assert.True(t, res.IsError && text(res) != "", "an error with a text")
	}
}

func structured(name, args, part string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		tool := p.listed(t, name)
		assert.True(t, tool != nil && tool.OutputSchema != nil, "an output schema")
		raw, _ := p.tool(t, name, args, nil).StructuredContent.(json.RawMessage)
		assert.True(t, json.Valid(raw), "JSON: %q", raw)
		want(t, string(raw), part)
	}
}

// media calls a tool that returns an image or audio of a type, whose data begins so.
func media(name, kind, begin string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		for _, c := range p.tool(t, name, `{}`, nil).Content {
			switch c := c.(type) {
			case *mcp.ImageContent:
				assert.Equal(t, c.MIMEType+" "+string(c.Data[:len(begin)]), kind+" "+begin)
				return
			case *mcp.AudioContent:
				assert.Equal(t, c.MIMEType+" "+string(c.Data[:len(begin)]), kind+" "+begin)
				return
			}
		}
		t.Errorf("got no content of the type %s, want some", kind)
	}
}

// embedded returns the contents of the only resource in a result.
func embedded(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	var found []*mcp.ResourceContents
	for _, c := range res.Content {
		if r, ok := c.(*mcp.EmbeddedResource); ok {
			found = append(found, r.Resource)
		}
	}
	return assert.Only(t, found).Text + string(found[0].Blob)
}

func progress(name, args string, steps int) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		var seen []float64
		p.tool(t, name, args, &mcp.RequestOptions{Progress: func(p *mcp.ProgressParams) { seen = append(seen, p.Progress) }})
		assert.Equal(t, len(seen), steps, "progress")
	}
}

// cancelled cancels a call when it is under way, and sees that the connection
// does not suffer.
func cancelled(name, args string) func(*testing.T, *peer) {
	return func(t *testing.T, p *peer) {
		before := p.State().Connections
		ctx, cancel := context.WithCancel(ctxFor(t))
		defer cancel()
		_, err := p.CallTool(ctx, name, json.RawMessage(args), &mcp.RequestOptions{Progress: func(*mcp.ProgressParams) { cancel() }})
		assert.Is(t, err, context.Canceled, "error")
		assert.Equal(t, assert.Err(p.Tools(ctxFor(t))), nil, "after it")
		assert.Equal(t, p.State().Connections, before, "connections, before it")
	}
}
