package result

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// ReaderName is the name of the tool that reads what is kept.
const ReaderName = "read_result"

// ReadArgs are the arguments of read_result.
type ReadArgs struct {
	Handle string `json:"handle" jsonschema:"as given where something was left out"`             // as a cut result gives it
	Block  int    `json:"block,omitempty" jsonschema:"number of the block, from 0"`              // from 0
	Offset int    `json:"offset,omitempty" jsonschema:"byte of the block to begin with, from 0"` // in bytes, from 0
	Limit  int    `json:"limit,omitempty" jsonschema:"bytes at most"`                            // in bytes; 0: as many as are allowed
}

// Read answers a call of read_result.
func (r *Shaper) Read(ctx context.Context, in ReadArgs) *mcp.CallToolResult {
	if !r.Keeps() {
		return unreadable("nothing is kept here")
	}
	// Models are not careful with capitals; handles have no small letters.
	handle, by := strings.ToUpper(strings.TrimSpace(in.Handle)), ownerOf(ctx)
	k := r.store.get(handle, by)
	var err error
	if k == nil && r.shelf != nil {
		k, err = r.shelf.get(ctx, handle, by)
	}
	switch {
	case err != nil:
		return unreadable("the results are out of reach at the moment: read it again in a while")
	case k == nil:
		return unreadable("there is no result with this handle: it was kept for a while only, or belongs to another conversation; call the tool again if its result is still needed")
	case in.Block < 0 || in.Block >= len(k.blocks):
		return unreadable("block %d does not exist; the result has the blocks 0 to %d", in.Block, len(k.blocks)-1)
	case in.Offset < 0:
		return unreadable("the offset must not be negative")
	case in.Limit < 0:
		return unreadable("the limit must not be negative")
	}
	block := k.blocks[in.Block]
	if block.other == nil {
		return r.readText(k, block.text, in)
	}
	var env *envelope
	if r.opts.Wrap && !k.from.Trusted {
		env = newEnvelope(k.from)
	}
	head := fmt.Sprintf("[block %d of %d, whole]", in.Block, len(k.blocks))
	return pageOf(head, env, keepBlock(block.other).other) // a copy: the caller may change it
}

// readText returns one page of a text.
func (r *Shaper) readText(k *keptResult, whole string, in ReadArgs) *mcp.CallToolResult {
	if in.Offset > len(whole) || in.Offset == len(whole) && in.Offset > 0 {
		return unreadable("block %d has %s; there is nothing from offset %d on", in.Block, plain.Number(len(whole), "byte"), in.Offset)
	}
	p := pager{results: r, whole: whole, block: in.Block, from: characterAt(whole, in.Offset)}
	if r.opts.Wrap && !k.from.Trusted {
		p.envelope = newEnvelope(k.from)
	}
	limit := noLimit
	if in.Limit > 0 {
		limit = in.Limit
	}

	p.tokens = r.limit.tokens != noLimit
	if res, ok := p.within(limit, r.limit); ok {
		return res
	}
	return unreadable("there is no room for a page of this result")
}

// A pager cuts one page out of a text.
type pager struct {
	results  *Shaper
	envelope *envelope
	whole    string
	block    int
	from     int
	tokens   bool
}

// maxPageHead is the length of the longest head of a page.
const maxPageHead = 160

// within returns a page of at most limit bytes that fits into the room with all
// that is said around it. A page has at least one character.
func (p *pager) within(limit int, room resultSize) (*mcp.CallToolResult, bool) {
	const attempts = 16
	most := min(limit, room.bytes-p.envelope.size()-maxPageHead-1)
	for range attempts {
		if most <= 0 {
			break
		}
		to := p.end(most)
		res := pageOf(p.head(to), p.envelope, &mcp.TextContent{Text: p.whole[p.from:to]})
		got := p.results.measure(res.Content, nil, nil, p.tokens)
		if got.within(room) {
			return res, true
		}
		share := float64(room.tokens) / float64(max(1, got.tokens))
		most = int(float64(min(most, to-p.from)) * min(0.9, share*0.95))
	}
	return nil, false
}

// end returns the end of a page of about so many bytes.
func (p *pager) end(most int) int {
	if most >= len(p.whole)-p.from {
		return len(p.whole)
	}
	to := p.from + lineStartBefore(p.whole[p.from:], most)
	if to == p.from {
		_, first := utf8.DecodeRuneInString(p.whole[p.from:])
		to += first
	}
	return to
}

// head says where a page is.
func (p *pager) head(to int) string {
	where := fmt.Sprintf("bytes %d-%d of %d, block %d", p.from, to, len(p.whole), p.block)
	if to == len(p.whole) {
		return "[" + where + "; this is the end of the block]"
	}
	return fmt.Sprintf("[%s; go on with offset %d]", where, to)
}

// pageOf returns a result of read_result: a head of ours, and a block in its
// envelope.
func pageOf(head string, env *envelope, block mcp.Content) *mcp.CallToolResult {
	content := append(textContent(head), env.wrap([]mcp.Content{block})...)
	return &mcp.CallToolResult{Content: content}
}

// unreadable returns a failure that the model can read.
func unreadable(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: textContent(fmt.Sprintf(format, args...))}
}
