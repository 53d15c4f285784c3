package registry

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A resultSize is how much of something there is. A limit of noLimit bounds nothing.
type resultSize struct{ bytes, tokens int }

func (s resultSize) within(limit resultSize) bool {
	return s.bytes <= limit.bytes && s.tokens <= limit.tokens
}

// measure returns the size of a result: of its content, or of its structured
// content if that is larger, since a model gets one of them. Tokens are counted
// only if somebody wants to know.
func (r *results) measure(content []mcp.Content, raw json.RawMessage, env *envelope, tokens bool) resultSize {
	s := resultSize{bytes: env.size()}
	for _, c := range content {
		if present(c) {
			s.bytes += sizeOf(c)
		}
	}
	instead := raw != nil && hasText(content)
	if instead {
		s.bytes = max(s.bytes, len(raw))
	} else if raw != nil {
		s.bytes += len(raw) + 1
	}
	if !tokens {
		return s
	}
	if env != nil {
		s.tokens += r.opts.Tokens(env.begin) + r.opts.Tokens(env.end)
	}
	for _, c := range content {
		if present(c) {
			s.tokens += r.opts.Tokens(blockText(c))
		}
	}
	if raw == nil {
		return s
	}
	if own := r.opts.Tokens(string(raw)); instead {
		s.tokens = max(s.tokens, own)
	} else {
		s.tokens += own
	}
	return s
}

// sizeOf returns how much of a limit a block takes that is present: at least what
// [Text] shows of it, with a line feed.
func sizeOf(c mcp.Content) int {
	switch c := c.(type) {
	case *mcp.TextContent:
		return len(c.Text) + 1
	case *mcp.EmbeddedResource:
		if c.Resource.Blob == nil {
			return len(c.Resource.Text) + len(c.Resource.URI) + len(c.Resource.MIMEType) + 1
		}
		return lineOfMedia + len(c.Resource.MIMEType) + len(c.Resource.URI)
	case *mcp.ImageContent:
		return lineOfMedia + len(c.MIMEType)
	case *mcp.AudioContent:
		return lineOfMedia + len(c.MIMEType)
	case *mcp.ResourceLink:
		all := len(c.URI) + len(c.Name) + len(c.Title) + len(c.Description) + len(c.MIMEType)
		return max(all, len(linkText(c))) + 1
	}
	return len(otherText(c)) + 1
}

// lineOfMedia is what [blockText] needs for an image or a sound, but for its type.
const lineOfMedia = len("[binary , 9223372036854775807 bytes]\n")

// leavesOut reports whether any block is left out, whatever there is room for.
func (r *results) leavesOut(content []mcp.Content) bool {
	for _, c := range content {
		if r.tooLarge(c) {
			return true
		}
	}
	return false
}

// tooLarge reports whether a block has more bytes than MaxMedia.
func (r *results) tooLarge(c mcp.Content) bool {
	if !present(c) {
		return false
	}
	_, _, data := mediaOf(c)
	return len(data) > r.opts.MaxMedia
}
