package result

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// textSize returns the size of a result: of its content, or of its structured content if
// that is larger, since a model gets one of them.
func textSize(content []mcp.Content, raw json.RawMessage, hasText bool, env *envelope) int {
	size := env.size()
	for _, c := range content {
		if present(c) {
			size += sizeOf(c)
		}
	}
	switch {
	case raw == nil:
		return size
	case hasText:
		return max(size, len(raw))
	}
	return size + len(raw) + 1
}

// sizeOf returns how much of a limit a block takes that is present: at least what
// [Text] shows of it, with a line feed.
func sizeOf(c mcp.Content) int {
	size := 0
	if kind, media, _ := mediaOf(c); kind != "" {
		size = lineOfMedia + len(media)
	} else {
		size = len(blockText(c)) + 1
	}
	switch c := c.(type) {
	case *mcp.EmbeddedResource:
		size += len(c.Resource.URI) + len(c.Resource.MIMEType)
	case *mcp.ResourceLink:
		size = max(size, len(c.URI)+len(c.Name)+len(c.Title)+len(c.Description)+len(c.MIMEType)+1)
	}
	return size
}

// lineOfMedia is what [blockText] needs for an image or a sound, but for its type.
const lineOfMedia = len("[binary , 9223372036854775807 bytes]\n")

// tooLarge reports whether a block has more bytes than may stay.
func (r *Shaper) tooLarge(c mcp.Content) bool {
	if !present(c) {
		return false
	}
	_, _, data := mediaOf(c)
	return len(data) > r.bounds.media
}
