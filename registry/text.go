package registry

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Text returns a result as a model reads it that takes nothing but text. Blocks
// of text and embedded texts come as they are, other blocks as one line each, such
// as [image image/png, 1234 bytes]. Structured content comes as JSON if the
// content has no text that says it. The blocks are parted by line feeds.
//
// The text is the server's: it may hold anything, see [ResultOptions].Wrap for
// models and [TerminalText] for terminals. Whether the tool failed is not part of
// it. The text of nil is empty.
func Text(res *mcp.CallToolResult) string {
	if res == nil {
		return ""
	}
	texts := make([]string, 0, len(res.Content)+1)
	for _, c := range res.Content {
		if present(c) {
			texts = append(texts, blockText(c))
		}
	}
	if !hasText(res.Content) {
		if raw := structured(res); raw != nil {
			texts = append(texts, string(raw))
		}
	}
	return strings.Join(texts, "\n")
}

// TerminalText is [Text] for a terminal: everything that could deceive who reads
// it, such as escape sequences and what turns the direction of writing, is made
// visible. Tabs become blanks.
func TerminalText(res *mcp.CallToolResult) string {
	return plain.Text(strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(Text(res)))
}

// present reports whether there is a block at all. Only native tools can return
// results with holes.
func present(c mcp.Content) bool {
	switch c := c.(type) {
	case nil:
		return false
	case *mcp.TextContent:
		return c != nil
	case *mcp.ImageContent:
		return c != nil
	case *mcp.AudioContent:
		return c != nil
	case *mcp.ResourceLink:
		return c != nil
	case *mcp.EmbeddedResource:
		return c != nil && c.Resource != nil
	case *mcp.ToolUseContent:
		return c != nil
	case *mcp.ToolResultContent:
		return c != nil
	}
	return true
}

// textIn returns the text of a block that is a text or an embedded text.
func textIn(c mcp.Content) (text string, ok bool) {
	if !present(c) {
		return "", false
	}
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text, true
	case *mcp.EmbeddedResource:
		return c.Resource.Text, c.Resource.Blob == nil
	}
	return "", false
}

// hasText reports whether any block has text that is more than white space.
func hasText(content []mcp.Content) bool {
	for _, c := range content {
		if text, ok := textIn(c); ok && strings.TrimSpace(text) != "" {
			return true
		}
	}
	return false
}

// blockText returns what [Text] shows of a block that is present.
func blockText(c mcp.Content) string {
	if text, ok := textIn(c); ok {
		return text
	}
	if link, ok := c.(*mcp.ResourceLink); ok {
		return linkText(link)
	}
	if kind, media, data := mediaOf(c); kind != "" {
		return fmt.Sprintf("[%s%s, %d bytes]", kind, mediaType(media), len(data))
	}
	return otherText(c)
}

// linkText returns a link on one line.
func linkText(link *mcp.ResourceLink) string {
	var text strings.Builder
	text.WriteString("[resource ")
	name := link.Title
	if name == "" {
		name = link.Name
	}
	if name != "" {
		text.WriteString(plain.Line(name) + " ")
	}
	text.WriteString("<" + plain.Line(link.URI) + ">" + mediaType(link.MIMEType))
	if link.Size != nil {
		fmt.Fprintf(&text, ", %d bytes", *link.Size)
	}
	if link.Description != "" {
		text.WriteString(": " + plain.Line(link.Description))
	}
	return text.String() + "]"
}

// otherText returns the JSON of a block that no tool should return.
func otherText(c mcp.Content) string {
	data, err := c.MarshalJSON()
	if err != nil {
		return "[content that cannot be shown]"
	}
	return string(data)
}

// mediaOf takes a block of bytes apart. The kind of others is empty.
func mediaOf(c mcp.Content) (kind, mime string, data []byte) {
	switch c := c.(type) {
	case *mcp.ImageContent:
		return "image", c.MIMEType, c.Data
	case *mcp.AudioContent:
		return "audio", c.MIMEType, c.Data
	case *mcp.EmbeddedResource:
		if c.Resource.Blob != nil {
			return "binary", c.Resource.MIMEType, c.Resource.Blob
		}
	}
	return "", "", nil
}

// maxMediaType is the length of the longest media type that is shown.
const maxMediaType = 100

// mediaType returns a blank and a media type, or nothing if it is none that can
// be shown.
func mediaType(mime string) string {
	if mime == "" || len(mime) > maxMediaType {
		return ""
	}
	for i := range len(mime) {
		if c := mime[i]; c <= ' ' || c > '~' || c == '[' || c == ']' {
			return ""
		}
	}
	return " " + mime
}

// structured returns the structured content as JSON, or nil if there is none or
// it has no JSON.
func structured(res *mcp.CallToolResult) json.RawMessage {
	raw, ok := res.StructuredContent.(json.RawMessage)
	if !ok && res.StructuredContent != nil {
		var err error
		if raw, err = json.Marshal(res.StructuredContent); err != nil {
			return nil
		}
	}
	if len(raw) == 0 || isNull(raw) {
		return nil
	}
	return raw
}
