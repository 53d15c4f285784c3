package result

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
// content if that is larger, since a model gets one of them. Tokens are counted only if
// the caller asks for them.
func (r *Shaper) measure(content []mcp.Content, raw json.RawMessage, env *envelope, tokens bool) resultSize {
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
func (r *Shaper) leavesOut(content []mcp.Content) bool {
	for _, c := range content {
		if r.tooLarge(c) {
			return true
		}
	}
	return false
}

// tooLarge reports whether a block has more bytes than MaxMedia.
func (r *Shaper) tooLarge(c mcp.Content) bool {
	if !present(c) {
		return false
	}
	_, _, data := mediaOf(c)
	return len(data) > r.opts.MaxMedia
}

// blockOverhead is what a block takes in memory beside what it holds.
const blockOverhead = 512

// Memory returns about how many bytes a result takes.
func Memory(res *mcp.CallToolResult, most int) int {
	if res == nil {
		return 0
	}
	total := blockOverhead + memoryOfMeta(res.Meta, most)
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		total += len(raw)
	} else {
		total += memoryOfJSON(res.StructuredContent, most)
	}
	for _, c := range res.Content {
		if total > most {
			break
		}
		total += memoryOf(c, most-total)
	}
	return total
}

// memoryOf returns about how many bytes a block takes.
func memoryOf(c mcp.Content, most int) int {
	if !present(c) {
		return blockOverhead
	}
	_, _, data := mediaOf(c)
	total := blockOverhead + sizeOf(c) + len(data)
	switch c := c.(type) {
	case *mcp.TextContent:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations)
	case *mcp.ImageContent:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations)
	case *mcp.AudioContent:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations)
	case *mcp.ResourceLink:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations) +
			memoryOfFields(c.Icons != nil, c.Icons)
	case *mcp.EmbeddedResource:
		if c.Resource.Blob != nil {
			total += len(c.Resource.Text)
		}
		return total + memoryOfMeta(c.Meta, most) + memoryOfMeta(c.Resource.Meta, most) +
			memoryOfFields(c.Annotations != nil, c.Annotations)
	}
	return total + decodedFields*sizeOf(c) // of a kind that no tool should return
}

func memoryOfMeta(meta mcp.Meta, most int) int {
	if meta == nil {
		return 0
	}
	return memoryOfJSON(map[string]any(meta), most)
}

// memoryOfJSON returns about how many bytes a value takes that was decoded from JSON:
// it may be fifty times as long as its text.
func memoryOfJSON(v any, most int) int {
	const (
		value   = 24  // an interface with a number, or what a text needs beside
		members = 512 // of a small map
		member  = 96  // of a large one
	)
	total := value
	switch v := v.(type) {
	case nil, bool, float64:
	case string:
		total += value + len(v)
	case []any:
		total += value * (1 + cap(v) - len(v))
		for _, e := range v {
			if total > most {
				break
			}
			total += memoryOfJSON(e, most-total)
		}
	case map[string]any:
		total += members + member*len(v)
		for key, e := range v {
			if total > most {
				break
			}
			total += len(key) + memoryOfJSON(e, most-total)
		}
	default:
		total += memoryOfFields(v != nil, v)
	}
	return total
}

// decodedFields is how many times as much a value of Go takes as its JSON.
const decodedFields = 16

// memoryOfFields returns about how many bytes a value of Go takes, if it is there.
func memoryOfFields(there bool, v any) int {
	if !there {
		return 0
	}
	data, err := json.Marshal(v)
	if err != nil {
		return noLimit / 16
	}
	return decodedFields * len(data)
}
