package registry

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// apply returns a result in the form. An unknown form is FormBoth.
func (f ResultForm) apply(res *mcp.CallToolResult) *mcp.CallToolResult {
	if f != FormContent && f != FormStructured || res.StructuredContent == nil {
		return res
	}
	raw := structured(res)
	if raw == nil {
		return res
	}
	switch {
	case f == FormContent:
		shaped := *res
		shaped.StructuredContent = nil
		if !hasText(res.Content) {
			shaped.Content = append(slices.Clone(res.Content), textContent(string(raw))...)
		}
		return &shaped
	case !res.IsError && slices.ContainsFunc(res.Content, isTextBlock):
		shaped := *res
		shaped.Content = slices.DeleteFunc(slices.Clone(res.Content), isTextBlock)
		return &shaped
	}
	return res
}

func isTextBlock(c mcp.Content) bool {
	_, ok := c.(*mcp.TextContent)
	return ok
}
