package result

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// smallPart is the least that is left of a block that is cut, in bytes.
	smallPart = 400
	// maxNote is the length of the longest line that stands for what is left out.
	maxNote = 300
)

// A fitting makes one result fit into its limit.
type fitting struct {
	shaper *Shaper
	res    *mcp.CallToolResult
	kept   func() string // keeps the result the first time, and returns the handle; empty: it is not kept
}

// fit returns res within its limit and the envelope.
func (r *Shaper) fit(ctx context.Context, from From, res *mcp.CallToolResult, env *envelope) *mcp.CallToolResult {
	raw := structured(res)
	hasText := saysAll(res.Content, len(raw))
	if !slices.ContainsFunc(res.Content, r.tooLarge) && (env == nil || raw == nil || hasText) && textSize(res.Content, raw, hasText, env) <= r.maxBytes {
		if env == nil {
			return res
		}
		return withContent(res, env.wrap(res.Content))
	}
	f := &fitting{r, res, sync.OnceValue(func() string { return r.keep(ctx, from, res, raw) })}
	room := r.maxBytes - env.size()
	parts, stays := f.parts(room, raw, hasText || env != nil)
	if stays && !hasText && env == nil {
		room -= len(raw) + 1 // see Text
	}
	shaped := withContent(res, env.wrap(f.first(parts, room)))
	if !stays {
		shaped.StructuredContent = nil
	}
	return shaped
}

// A part is a block on its way into a result.
type part struct {
	index int // of the block in the result that is kept
	block mcp.Content
	size  int
	note  bool // it stands for a block that is left out
}

// parts returns the blocks of the result, with notes for those that are left out
// whatever there is room for, and whether the structured content can stay. Beside says that
// its JSON is not part of the text.
func (f *fitting) parts(room int, raw json.RawMessage, beside bool) (parts []part, stays bool) {
	total := 0
	add := func(p part) {
		parts = append(parts, p)
		total += p.size
	}
	for i, c := range f.res.Content {
		switch {
		case !present(c):
		case f.shaper.tooLarge(c):
			add(f.note(i, strings.Trim(blockText(c), "[]")))
		default:
			add(part{index: i, block: c, size: sizeOf(c)})
		}
	}
	if raw == nil {
		return parts, false
	}
	hasText := saysAll(f.res.Content, len(raw))
	stays = len(raw) <= room && (beside || len(raw)+1+total <= room)
	switch index := len(f.res.Content); {
	case !hasText && (!stays || beside):
		add(part{index: index, block: &mcp.TextContent{Text: string(raw)}, size: len(raw) + 1})
	case !stays:
		add(f.note(index, plain.Number(len(raw), "byte")+" of structured content"))
	}
	return parts, stays
}

// first returns as many of the parts as there is room for, with a note for the others.
func (f *fitting) first(parts []part, room int) []mcp.Content {
	total := 0
	for _, p := range parts {
		total += p.size
	}
	fits := total <= room
	content := make([]mcp.Content, 0, len(parts))
	for i, p := range parts {
		left := room
		if !fits && i < len(parts)-1 {
			left -= maxNote // of those that come
		}
		if p.size <= left {
			content = append(content, p.block)
			room -= p.size
			continue
		}
		if left >= smallPart {
			content = append(content, f.cut(p, left).block)
			i++
		}
		if i < len(parts) {
			content = append(content, f.noteOfMany(parts[i:]))
		}
		break
	}
	return content
}

// cut returns a part that is no larger than room, which is at least smallPart.
func (f *fitting) cut(p part, room int) part {
	whole, ok := textIn(p.block)
	rest := p.size - len(whole) // a line feed, and what an embedded text has beside
	if left := room - rest - maxNote; ok && left > 0 {
		from, to := gapIn(whole, left)
		what := fmt.Sprintf("bytes %d to %d of %d are", from, to, len(whole))
		mark := f.line(what, "them", fmt.Sprintf(`"block":%d,"offset":%d`, p.index, from))
		p.block = withText(p.block, whole[:from]+"\n"+mark+"\n"+whole[to:])
		p.size = sizeOf(p.block)
		return p
	}
	if p.note {
		return p
	}
	return f.note(p.index, "a block of "+plain.Number(p.size, "byte"))
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

// line returns what stands for what is left out. To read is what is read, and the arguments are those of
// read_result behind the handle.
func (f *fitting) line(what, toRead, arguments string) string {
	if f.kept() == "" {
		return "[" + what + " left out here and were not kept]"
	}
	return fmt.Sprintf("[%s left out here; read %s with the tool %s: {\"handle\":%q,%s}]", what, toRead, ReaderName, f.kept(), arguments)
}

// note returns a line in place of one block.
func (f *fitting) note(index int, what string) part {
	line := f.line(what+",", "it", fmt.Sprintf(`"block":%d`, index))
	return part{index: index, block: &mcp.TextContent{Text: line}, size: len(line) + 1, note: true}
}

// noteOfMany returns a line in place of the last blocks.
func (f *fitting) noteOfMany(parts []part) mcp.Content {
	bytes := 0
	for _, p := range parts {
		bytes += p.size
	}
	first, last := parts[0].index, parts[len(parts)-1].index
	what := fmt.Sprintf("blocks %d to %d, %s, are", first, last, plain.Number(bytes, "byte"))
	return &mcp.TextContent{Text: f.line(what, "them one by one", fmt.Sprintf(`"block":%d`, first))}
}

// gapIn returns the gap that leaves at most room bytes of a text, half of them at its
// beginning and half at its end, parted between characters and, if one is near, lines.
func gapIn(text string, room int) (from, to int) {
	from = lineStartBefore(text, room-room/2)
	return from, max(from, lineStartAfter(text, len(text)-room/2))
}

// nearLine is how far away a line may end for a text to be cut there.
func nearLine(room int) int { return min(room/8, 512) }

// lineStartBefore returns the last place up to at where a text can be cut.
func lineStartBefore(text string, at int) int {
	at = characterAt(text, at)
	if i := strings.LastIndexByte(text[:at], '\n'); i >= 0 && at-i-1 <= nearLine(at) {
		return i + 1
	}
	return at
}

// lineStartAfter returns the first place from at on where a text can be cut.
func lineStartAfter(text string, at int) int {
	if start := characterAt(text, at); start < at {
		_, size := utf8.DecodeRuneInString(text[start:])
		at = start + size
	}
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i < nearLine(len(text)-at) {
		return at + i + 1
	}
	return at
}

// characterAt returns the beginning of the character that a place lies in. A
// byte that is no part of any is one by itself.
func characterAt(text string, at int) int {
	if at >= len(text) || utf8.RuneStart(text[at]) {
		return min(at, len(text))
	}
	for start := at - 1; start >= 0 && at-start < utf8.UTFMax; start-- {
		if _, size := utf8.DecodeRuneInString(text[start:]); size > at-start {
			return start
		}
	}
	return at
}
