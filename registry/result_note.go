package registry

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// kept returns the handle of the result, which is kept the first time. It is empty
// if the result is not kept.
func (f *fitting) kept() string {
	if !f.tried {
		f.tried, f.handle = true, f.keep()
	}
	return f.handle
}

// mark is what stands in a text for a gap in it.
func (f *fitting) mark(index int, g textGap, total int) string {
	missing := fmt.Sprintf("bytes %d to %d of %d are left out here", g.from, g.to, total)
	if f.kept() == "" {
		return "\n[" + missing + " and were not kept]\n"
	}
	return fmt.Sprintf("\n[%s; read them with the tool %s: {\"handle\":%q,\"block\":%d,\"offset\":%d}]\n", missing, readerName, f.handle, index, g.from)
}

// note returns a line in place of one block.
func (f *fitting) note(index int, what string) resultPart {
	line := "[" + what + ", left out here and not kept]"
	if f.kept() != "" {
		line = fmt.Sprintf("[%s, left out here; read it with the tool %s: {\"handle\":%q,\"block\":%d}]", what, readerName, f.handle, index)
	}
	return resultPart{index: index, block: &mcp.TextContent{Text: line}, size: len(line) + 1, note: true}
}

// noteOfMany returns a line in place of the last blocks.
func (f *fitting) noteOfMany(parts []resultPart) resultPart {
	bytes := 0
	for _, p := range parts {
		bytes += p.size
	}
	first, last := parts[0].index, parts[len(parts)-1].index
	what := fmt.Sprintf("blocks %d to %d, %s", first, last, plain.Number(bytes, "byte"))
	line := "[" + what + ", are left out here and were not kept]"
	if f.kept() != "" {
		line = fmt.Sprintf("[%s, are left out here; read them one by one with the tool %s, beginning with {\"handle\":%q,\"block\":%d}]", what, readerName, f.handle, first)
	}
	return resultPart{index: first, block: &mcp.TextContent{Text: line}, size: len(line) + 1, note: true}
}

// noteOfAll returns a line in place of the result.
func (f *fitting) noteOfAll() string {
	bytes := len(f.raw)
	for _, c := range f.res.Content {
		if present(c) {
			_, _, data := mediaOf(c)
			bytes += sizeOf(c) + len(data)
		}
	}
	blocks := len(f.res.Content)
	if f.raw != nil {
		blocks++
	}
	what := fmt.Sprintf("[The result has %s with %s and is left out: there is no room for any of it. It was ", plain.Number(blocks, "block"), plain.Number(bytes, "byte"))
	if f.kept() == "" {
		return what + "not kept.]"
	}
	return what + fmt.Sprintf("kept; read it with the tool %s: {\"handle\":%q,\"block\":0}]", readerName, f.handle)
}

// kindOfBlock names a block that cannot be cut, or has no text worth it.
func kindOfBlock(c mcp.Content) string {
	switch c.(type) {
	case *mcp.ResourceLink:
		return "a resource link"
	case *mcp.EmbeddedResource:
		return "an embedded resource"
	case *mcp.ImageContent:
		return "an image"
	case *mcp.AudioContent:
		return "a sound"
	}
	return "a block"
}
