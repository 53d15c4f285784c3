package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Piece is one of the parts of a result, as a model reads it.
type Piece struct {
	// Text is what a model reads that takes nothing but text: a text as it is, one
	// line in place of anything else, such as [image image/png, 1234 bytes].
	Text string
	// Data is what else there is: an image, a sound, a file; nil for text and links.
	// Do not change it.
	Data []byte
	// Media is the media type of Data, as the server says; it may be empty, or wrong.
	Media string
	// URI is that of the resource which the block is, or links to; empty: it is none.
	URI string
}

// Pieces returns a result in the order in which a model reads it. Blocks of text and
// embedded texts come as they are. If none of them has text, or if all of it is so short that
// it can only be a summary, structured content comes last, as JSON. Nil has none.
//
// The words are the server's: they may hold anything, see [Options].Wrap.
// Whether the tool failed is not part of them.
func Pieces(res *mcp.CallToolResult) []Piece {
	if res == nil {
		return nil
	}
	blocks := make([]Piece, 0, len(res.Content)+1)
	for _, c := range res.Content {
		if !present(c) {
			continue
		}
		b := Piece{Text: blockText(c)}
		_, b.Media, b.Data = mediaOf(c)
		switch c := c.(type) {
		case *mcp.EmbeddedResource:
			b.URI = c.Resource.URI
		case *mcp.ResourceLink:
			b.URI = c.URI
		}
		blocks = append(blocks, b)
	}
	if raw := structured(res); raw != nil && !saysAll(res.Content, len(raw)) {
		blocks = append(blocks, Piece{Text: string(raw)})
	}
	return blocks
}

// Text returns a result as a model reads it that takes nothing but text: the texts
// of its [Pieces], parted by line feeds. Structured content comes as JSON if the
// content has no text that says it.
//
// The text is the server's: it may hold anything, see [Options].Wrap for
// models and [TerminalText] for terminals. Whether the tool failed is not part of
// it. The text of nil is empty.
func Text(res *mcp.CallToolResult) string {
	var texts []string
	for _, b := range Pieces(res) {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}

// TerminalText is [Text] for a terminal: everything that could deceive a person who reads
// it, such as escape sequences and what turns the direction of writing, is made
// visible. Tabs become blanks.
func TerminalText(res *mcp.CallToolResult) string {
	return plain.Text(strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(Text(res)))
}

// present reports whether there is a block at all. Only native tools can return
// results with holes.
func present(c mcp.Content) bool {
	embedded, ok := c.(*mcp.EmbeddedResource)
	return !nils.Is(c) && (!ok || embedded.Resource != nil)
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

// saysAll reports whether blocks have text that can say what structured content of so many bytes
// does: servers write both, or a summary such as "returned 6 items". A small one is said by any
// text, and a large one is for programs.
func saysAll(content []mcp.Content, structured int) bool {
	const small, large, summary = 128, 8 << 10, 4
	said := 0
	for _, c := range content {
		if text, ok := textIn(c); ok {
			said += len(strings.TrimSpace(text))
		}
	}
	return said > 0 && (structured <= small || structured > large || said > structured/summary)
}

// blockText returns what [Text] shows of a block that is present.
func blockText(c mcp.Content) string {
	text, ok := textIn(c)
	if embedded, is := c.(*mcp.EmbeddedResource); is && ok && text == "" { // to be read by its address
		return linkText(&mcp.ResourceLink{URI: embedded.Resource.URI, MIMEType: embedded.Resource.MIMEType})
	}
	if ok {
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
	if name := cmp.Or(link.Title, link.Name); name != "" {
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

// shownType matches a media type that can be shown.
var shownType = regexp.MustCompile(`^[!-Z\\^-~]{1,100}$`)

// mediaType returns a blank and a media type, or nothing if it is none that can
// be shown.
func mediaType(mime string) string {
	if !shownType.MatchString(mime) {
		return ""
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
	if len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	return raw
}
