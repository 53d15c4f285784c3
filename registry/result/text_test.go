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

// TestTextOfServers: what a model reads of what servers answer, however they write it.
func TestTextOfServers(t *testing.T) {
	items := `{"items":["` + strings.Repeat(`0123456789abcdef","`, 20) + `"]}`
	for _, c := range []struct{ raw, want string }{
		//report: Results | MoonshotAI/kimi-code#2554 | the text is a summary in one line, and the data is in the structured content alone | a text of less than a quarter of the structured content is followed by that
		{`{"content":[{"type":"text","text":"returned 20 item(s)."}],"structuredContent":` + items + `}`, "returned 20 item(s).\n" + items},
		//report: Results | browseros-ai/BrowserOS#1560 | the structured content holds some words about the text alone | the text is there
		{`{"content":[{"type":"text","text":"the page"}],"structuredContent":{"page":1,"format":"markdown"}}`, "the page"},
		//report: Results | ggml-org/llama.cpp#26410, seuros/action_mcp#181 | content is empty beside structured content | the structured content is there, as JSON
		{`{"content":[],"structuredContent":{"total":36}}`, `{"total":36}`},
		//report: Results | naw103/foremerge#28, NovasPlace/CSM#28 | structured content is an array | it is there; of a tool with an output schema, which must be an object before revision 2026-07-28, the text alone comes through
		{`{"content":[],"structuredContent":[{"id":1}]}`, `[{"id":1}]`},
		//report: Results | calebl/ynab-mcp-server#31 | a failure is a block of the type "error", which there is not | the model reads the block as it stands
		{`{"content":[{"type":"error","text":"amount is wrong"}]}`, `{"type":"error","text":"amount is wrong"}`},
		//report: Results | cloudflare/mcp-server-cloudflare#12 | the result is in "toolResult", and there is no content | the model reads the result as it stands
		{`{"toolResult":{"content":[{"type":"text","text":"x"}]}}`, `{"toolResult":{"content":[{"type":"text","text":"x"}]}}`},
		{`{"content":"plain"}`, "plain"},
		{`{"content":{"type":"text","text":"one"}}`, "one"},
		{`{"content":{"type":"text","text":7}}`, `{"type":"text","text":7}`},
		//report: Results | samanhappy/mcphub#922 | a tool that has nothing to say answers with the text null | the text is there
		{`{"content":[{"type":"text","text":"null"}]}`, "null"},
		//report: Results | anomalyco/opencode#24618 | a tool answers with an image alone, or with nothing | the image is there with a line about it; nothing is an empty text
		{`{"content":[{"type":"image","data":"AQI=","mimeType":"image/png"}]}`, "[image image/png, 2 bytes]"},
		{`{"content":[]}`, ""},
		//report: Results | NousResearch/hermes-agent#86201 | an embedded resource has an empty text and no data, to be read by its address | the model reads the address
		{`{"content":[{"type":"resource","resource":{"uri":"paperless://documents/105/download","mimeType":"application/pdf","text":""}}]}`, "[resource <paperless://documents/105/download> application/pdf]"},
		//report: Results | NousResearch/hermes-agent#64556 | links, files and sounds come beside the text | each is a line with its address or kind
		{`{"content":[{"type":"text","text":"done"},{"type":"resource_link","uri":"file:///a.pdf","name":"a"},{"type":"audio","data":"AQI=","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"u","blob":"AQI="}}]}`,
			"done\n[resource a <file:///a.pdf>]\n[audio audio/wav, 2 bytes]\n[binary, 2 bytes]"},
	} {
		var res mcp.CallToolResult
		assert.OK(t, res.UnmarshalJSON([]byte(c.raw)), "%s", c.raw)
		assert.Equal(t, result.Text(&res), c.want, "%s", c.raw)
	}
}

func TestTerminalText(t *testing.T) {
	assert.Equal(t, result.TerminalText(textResult("a\tb\r\nc\x1b[2J\u202ed\rx")), "a    b\nc<U+001B>[2J<U+202E>d<U+000D>x")
}
