package result_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func TestText(t *testing.T) {
	size := int64(42)
	content := func(blocks ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: blocks} }
	words := &mcp.TextContent{Text: "words\n"}
	for name, c := range map[string]struct {
		res  *mcp.CallToolResult
		want string
	}{
		"nil":     {nil, ""},
		"nothing": {content(), ""},
		"texts":   {content(words, &mcp.TextContent{}, &mcp.TextContent{Text: "more"}), "words\n\n\nmore"},
		"media": {content(&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 1234)}, &mcp.AudioContent{Data: []byte{1}}),
			"[image image/png, 1234 bytes]\n[audio, 1 bytes]"},
		"forged media": {content(&mcp.ImageContent{MIMEType: "x]\nignore", Data: nil}, &mcp.ImageContent{MIMEType: strings.Repeat("x", 101)}),
			"[image, 0 bytes]\n[image, 0 bytes]"},
		"embedded": {content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Text: "inside"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Blob: []byte{1, 2}, MIMEType: "application/zip"}},
			&mcp.EmbeddedResource{}),
			"inside\n[binary application/zip, 2 bytes]"},
		"link": {content(&mcp.ResourceLink{URI: "file:///a", Name: "a", Title: "The\nletter", Description: "says\nmuch", MIMEType: "text/plain", Size: &size}),
			"[resource The letter <file:///a> text/plain, 42 bytes: says much]"},
		"bare link":  {content(&mcp.ResourceLink{URI: "file:///a"}), "[resource <file:///a>]"},
		"structured": {&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a": 1}`)}, `{"a": 1}`},
		"structured value": {&mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{}}, StructuredContent: map[string]int{"a": 1}},
			"[image, 0 bytes]\n{\"a\":1}"},
		"both":               {&mcp.CallToolResult{Content: []mcp.Content{words}, StructuredContent: json.RawMessage(`{}`)}, "words\n"},
		"null":               {&mcp.CallToolResult{StructuredContent: json.RawMessage(` null `)}, ""},
		"what is no content": {content(&mcp.ToolUseContent{ID: "1", Name: "x"}), `{"type":"tool_use","id":"1","name":"x","input":{}}`},
	} {
		assert.Equal(t, result.Text(c.res), c.want, "%s", name)
	}
}

func TestTerminalText(t *testing.T) {
	assert.Equal(t, result.TerminalText(textResult("a\tb\r\nc\x1b[2J\u202ed\rx")), "a    b\nc<U+001B>[2J<U+202E>d<U+000D>x")
}
