package result

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// A fitting makes one result fit into its limits.
type fitting struct {
	results  *Shaper
	res      *mcp.CallToolResult
	raw      json.RawMessage // the structured content; nil if there is none
	hasText  bool
	envelope *envelope
	keep     func() string // Keeps the result and returns the handle
	handle   string
	tried    bool // to keep it
	tokens   bool // tokens are counted
}

// fit returns res, which is in its form, within its limits and the envelope.
func (r *Shaper) fit(ctx context.Context, from From, res *mcp.CallToolResult, env *envelope) *mcp.CallToolResult {
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
		// The cost in tokens is not known beforehand, but it is much the same all over a
		// text.
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
	return fmt.Sprintf("\n[%s; read them with the tool %s: {\"handle\":%q,\"block\":%d,\"offset\":%d}]\n", missing, ReaderName, f.handle, index, g.from)
}

// note returns a line in place of one block.
func (f *fitting) note(index int, what string) resultPart {
	line := "[" + what + ", left out here and not kept]"
	if f.kept() != "" {
		line = fmt.Sprintf("[%s, left out here; read it with the tool %s: {\"handle\":%q,\"block\":%d}]", what, ReaderName, f.handle, index)
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
		line = fmt.Sprintf("[%s, are left out here; read them one by one with the tool %s, beginning with {\"handle\":%q,\"block\":%d}]", what, ReaderName, f.handle, first)
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
	return what + fmt.Sprintf("kept; read it with the tool %s: {\"handle\":%q,\"block\":0}]", ReaderName, f.handle)
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

// A textGap is what is left out of a text.
type textGap struct{ from, to int }

// gapIn returns the gap that leaves at most room bytes of a text, at its
// beginning and its end, parted between characters and, if one is near, lines.
func gapIn(text string, room int, failed bool) textGap {
	tail := room / 100 * tailShare(text, failed)
	from := lineStartBefore(text, room-tail)
	to := lineStartAfter(text, len(text)-tail)
	return textGap{from, max(from, to)}
}

// hasErrorWord reports whether a text has a word that the end of an output has which went
// wrong, such as "failed" or "TypeError". Words are of letters, digits and underscores.
func hasErrorWord(text string) bool {
	for at := 0; at < len(text); at++ {
		from := at
		for at < len(text) && isWordByte(text[at]) {
			at++
		}
		if isErrorWord(text[from:at]) {
			return true
		}
	}
	return false
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

func isErrorWord(word string) bool {
	for _, end := range []string{"error", "exception"} {
		if n := len(word) - len(end); n >= 0 && strings.EqualFold(word[n:], end) {
			return true
		}
	}
	for _, known := range []string{"errors", "failed", "failure", "fatal", "panic", "traceback", "denied", "abort", "aborted"} {
		if len(word) == len(known) && strings.EqualFold(word, known) {
			return true
		}
	}
	return false
}

// tailShare returns how much of the room goes to the end of a text, in percent.
func tailShare(text string, failed bool) int {
	const last = 2 << 10
	switch {
	case failed:
		return 50
	case hasErrorWord(text[max(0, len(text)-last):]):
		return 60
	}
	return 25
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
