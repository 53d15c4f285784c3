package registry

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// smallPart is the least that is left of a block that is cut, in bytes.
	smallPart = 400
	// maxNote is the length of the longest line that stands for what is left out.
	maxNote = 300
)

// A fitting makes one result fit into its limits.
type fitting struct {
	results  *results
	res      *mcp.CallToolResult
	raw      json.RawMessage // the structured content; nil if there is none
	hasText  bool
	envelope *envelope
	keep     func() string // keeps the result and returns the handle
	handle   string
	tried    bool // to keep it
	tokens   bool // tokens are counted
}

// fit returns res, which is in its form, within its limits and the envelope.
func (r *results) fit(ctx context.Context, from resultFrom, res *mcp.CallToolResult, env *envelope) *mcp.CallToolResult {
	raw := structured(res)
	counted := r.limit.tokens != noLimit
	if !r.leavesOut(res.Content) && (env == nil || raw == nil || hasText(res.Content)) {
		if want := r.measure(res.Content, raw, env, counted); want.within(r.limit) {
			if env == nil {
				return res
			}
			return withContent(res, env.wrap(res.Content))
		}
	}

	f := &fitting{results: r, res: res, raw: raw, hasText: hasText(res.Content), envelope: env, tokens: counted}
	f.keep = func() string { return r.keep(ctx, from, res, raw) }
	if shaped, ok := f.within(r.limit); ok {
		return shaped
	}
	return f.nothing()
}

// within returns the result as it fits into a limit. It fails if there is no room
// for anything.
func (f *fitting) within(limit resultSize) (*mcp.CallToolResult, bool) {
	const attempts = 16
	room := limit.bytes
	for range attempts {
		content, raw, ok := f.render(room)
		if !ok {
			return nil, false
		}
		got := f.results.measure(content, raw, f.envelope, f.tokens)
		if got.within(limit) {
			shaped := withContent(f.res, f.envelope.wrap(content))
			if raw == nil {
				shaped.StructuredContent = nil
			}
			return shaped, true
		}
		// What tokens cost is not known beforehand, but it is much the same all over
		// a text.
		share := float64(limit.tokens) / float64(max(1, got.tokens))
		room = int(float64(min(room, got.bytes)) * min(0.9, share*0.95))
	}
	return nil, false
}

// A resultPart is a block on its way into a result.
type resultPart struct {
	index int // of the block in the result that is kept
	block mcp.Content
	size  int
	note  bool // it stands for a block that is left out
}

// render returns the content that fits into so many bytes, and the structured
// content unless that is left out. It fails if there is no room for anything.
func (f *fitting) render(room int) ([]mcp.Content, json.RawMessage, bool) {
	parts, raw := f.parts(room)
	if room -= f.envelope.size(); raw != nil && !f.hasText && f.envelope == nil {
		room -= len(raw) + 1 // see Text
	}
	sizes := make([]int, len(parts))
	total := 0
	for i, p := range parts {
		sizes[i] = p.size
		total += p.size
	}
	if total > room {
		if room < smallPart {
			return nil, nil, false
		}
		if level := levelOf(sizes, room); level >= smallPart {
			f.cutAll(parts, level)
		} else {
			parts = f.first(parts, room)
		}
	}
	content := make([]mcp.Content, len(parts))
	for i, p := range parts {
		content[i] = p.block
	}
	return content, raw, true
}

// parts returns the blocks of the result, with notes for those that are left out
// whatever there is room for, and the structured content if it can stay.
func (f *fitting) parts(room int) ([]resultPart, json.RawMessage) {
	r, raw := f.results, f.raw
	var parts []resultPart
	total := 0
	add := func(p resultPart) {
		parts = append(parts, p)
		total += p.size
	}
	for i, c := range f.res.Content {
		switch {
		case !present(c):
		case r.tooLarge(c):
			add(f.note(i, blockText(c)[1:len(blockText(c))-1]))
		default:
			add(resultPart{index: i, block: c, size: sizeOf(c)})
		}
	}
	if raw == nil {
		return parts, nil
	}
	own := len(raw)
	if !f.hasText && f.envelope == nil {
		own += total + 1
	}
	fits := own <= room && (!f.tokens || r.opts.Tokens(string(raw)) <= r.limit.tokens)
	switch index := len(f.res.Content); {
	case !f.hasText && (!fits || f.envelope != nil):
		add(resultPart{index: index, block: &mcp.TextContent{Text: string(raw)}, size: len(raw) + 1})
	case !fits:
		add(f.note(index, plain.Number(len(raw), "byte")+" of structured content"))
	}
	if !fits {
		raw = nil
	}
	return parts, raw
}

// levelOf returns the size to which the larger parts must shrink for all to fit.
func levelOf(sizes []int, room int) int {
	slices.Sort(sizes)
	for i, s := range sizes {
		if level := room / (len(sizes) - i); s > level {
			return level
		}
		room -= s
	}
	return noLimit
}

// cutAll shortens the parts that are larger than a level.
func (f *fitting) cutAll(parts []resultPart, level int) {
	for i, p := range parts {
		if p.size > level {
			parts[i] = f.cut(p, level)
		}
	}
}

// first returns as many of the parts as fit, with a note for the others.
func (f *fitting) first(parts []resultPart, room int) []resultPart {
	room -= maxNote
	n := 0
	for n < len(parts) && parts[n].size <= room {
		room -= parts[n].size
		n++
	}
	kept := slices.Clone(parts[:n])
	if n < len(parts) && room >= smallPart {
		kept = append(kept, f.cut(parts[n], room))
		n++
	}
	if n < len(parts) {
		kept = append(kept, f.noteOfMany(parts[n:]))
	}
	return kept
}

// cut returns a part that is no larger than room, which is at least smallPart.
func (f *fitting) cut(p resultPart, room int) resultPart {
	whole, ok := textIn(p.block)
	rest := p.size - len(whole) // a line feed, and what an embedded text has beside
	if left := room - rest - maxNote; ok && left > 0 {
		g := gapIn(whole, left, f.res.IsError)
		p.block = withText(p.block, whole[:g.from]+f.mark(p.index, g, len(whole))+whole[g.to:])
		p.size = sizeOf(p.block)
		return p
	}
	if p.note {
		return p
	}
	return f.note(p.index, kindOfBlock(p.block)+" of "+plain.Number(p.size, "byte"))
}

// withText returns a copy of a block that [textIn] knows, with another text.
func withText(c mcp.Content, text string) mcp.Content {
	switch c := c.(type) {
	case *mcp.TextContent:
		block := *c
		block.Text = text
		return &block
	case *mcp.EmbeddedResource:
		contents := *c.Resource
		contents.Text = text
		block := *c
		block.Resource = &contents
		return &block
	}
	return c
}

// nothing returns a line in place of a result for which there is no room.
func (f *fitting) nothing() *mcp.CallToolResult {
	shaped := withContent(f.res, textContent(f.noteOfAll()))
	shaped.StructuredContent = nil
	return shaped
}
