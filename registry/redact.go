package registry

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// redactResult returns res without its secrets; res itself if it has none.
func redactResult(r *redact.Redactor, res *mcp.CallToolResult) *mcp.CallToolResult {
	res = mapTexts(res, r.Text)
	return mapStructured(res, func(raw json.RawMessage) json.RawMessage { return r.JSON(raw) })
}

// mapTexts returns res with every text of its content replaced by f of it. Blocks
// whose texts f leaves as they are stay, and res if all do.
func mapTexts(res *mcp.CallToolResult, f func(string) string) *mcp.CallToolResult {
	var shaped *mcp.CallToolResult
	for i, c := range res.Content {
		if after := mapText(c, f); after != nil {
			if shaped == nil {
				shaped = withContent(res, append([]mcp.Content(nil), res.Content...))
			}
			shaped.Content[i] = after
		}
	}
	if shaped == nil {
		return res
	}
	return shaped
}

// mapText returns a block with its texts replaced, or nil if nothing changes.
func mapText(c mcp.Content, f func(string) string) mcp.Content {
	if !present(c) {
		return nil
	}
	switch c := c.(type) {
	case *mcp.TextContent:
		if after := f(c.Text); after != c.Text {
			block := *c
			block.Text = after
			return &block
		}
	case *mcp.EmbeddedResource:
		contents := *c.Resource
		changed := replaceText(&contents.Text, f)
		if replaceText(&contents.URI, f) || changed {
			block := *c
			block.Resource = &contents
			return &block
		}
	case *mcp.ResourceLink:
		block := *c
		changed := false
		for _, field := range []*string{&block.URI, &block.Name, &block.Title, &block.Description} {
			changed = replaceText(field, f) || changed
		}
		if changed {
			return &block
		}
	case *mcp.ToolUseContent, *mcp.ToolResultContent:
		// No tool should return them. They become the text that they are shown as.
		if before := otherText(c); f(before) != before {
			return textContent(f(before))[0]
		}
	}
	return nil
}

// replaceText replaces a text in place and reports whether it changed.
func replaceText(text *string, f func(string) string) bool {
	before := *text
	*text = f(before)
	return *text != before
}

// mapStructured returns res with its structured content replaced by f of it, or
// res itself if f returns what it got.
func mapStructured(res *mcp.CallToolResult, f func(json.RawMessage) json.RawMessage) *mcp.CallToolResult {
	raw := structured(res)
	if raw == nil {
		return res
	}
	after := f(raw)
	if len(after) == len(raw) && &after[0] == &raw[0] {
		return res
	}
	shaped := *res
	shaped.StructuredContent = after
	return &shaped
}

// withContent returns a copy of res with other content.
func withContent(res *mcp.CallToolResult, content []mcp.Content) *mcp.CallToolResult {
	shaped := *res
	shaped.Content = content
	return &shaped
}
