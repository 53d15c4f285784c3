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
	var env *envelope
	if r.opts.Wrap && !k.from.Trusted {
		env = newEnvelope(k.from)
	}
	block := k.blocks[in.Block]
	if block.Other != nil {
		return pageOf(fmt.Sprintf("[block %d of %d, whole]", in.Block, len(k.blocks)), env, block.content())
	}
	return r.page(block.Text, env, in)
}

// maxPageHead is the length of the longest head of a page.
const maxPageHead = 160

// page returns one page of a text, of one character at least.
func (r *Shaper) page(whole string, env *envelope, in ReadArgs) *mcp.CallToolResult {
	if in.Offset > len(whole) || in.Offset == len(whole) && in.Offset > 0 {
		return unreadable("block %d has %s; there is nothing from offset %d on", in.Block, plain.Number(len(whole), "byte"), in.Offset)
	}
	room := r.maxBytes - env.size() - maxPageHead - 1
	if in.Limit > 0 {
		room = min(room, in.Limit)
	}
	from, to := characterAt(whole, in.Offset), len(whole)
	if room < to-from {
		if to = from + lineStartBefore(whole[from:], room); to == from {
			_, first := utf8.DecodeRuneInString(whole[from:])
			to += first
		}
	}
	head := fmt.Sprintf("[bytes %d-%d of %d, block %d; go on with offset %d]", from, to, len(whole), in.Block, to)
	if to == len(whole) {
		head = fmt.Sprintf("[bytes %d-%d of %d, block %d; this is the end of the block]", from, to, len(whole), in.Block)
	}
	return pageOf(head, env, &mcp.TextContent{Text: whole[from:to]})
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
