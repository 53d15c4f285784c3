package result

import (
	"context"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Shaper brings results into the form that [Options] say, and keeps what it cuts. It is
// safe for concurrent use.
type Shaper struct {
	opts     Options
	bounds   bounds
	maxBytes int // of the text of one result
	redactor *redact.Redactor
	store    *store
	shelf    *shelf // nil: results are kept in memory alone
}

// New returns a shaper with these options, or nil for nil.
func New(opts *Options) *Shaper {
	if opts == nil {
		return nil
	}
	return newShaper(*opts, keptBounds())
}

func newShaper(opts Options, b bounds) *Shaper {
	r := &Shaper{opts: opts, bounds: b, maxBytes: opts.maxBytes(), store: newStore(b)}
	if r.maxBytes == noLimit {
		r.bounds.media = noLimit
	}
	if !nils.Is(opts.Store) {
		r.shelf = &shelf{store: opts.Store}
	}
	if opts.Redact || len(opts.Secrets) > 0 {
		r.redactor = redact.New(opts.Secrets)
	}
	return r
}

// A From is the tool that a result comes from.
type From struct {
	Server, Tool string // configured name of the server, and the tool's name there; empty for a native tool
	Trusted      bool   // its words are not wrapped
	Redacted     func() `json:"-"` // is called if the result has secrets, which are taken out; nil: nothing is
}

type wholeKey struct{}

// WithWhole returns a context for calls whose results go to a program, such as a script
// that a model has written: they stay as they came but for secrets, which are redacted as
// [Options] say.
func WithWhole(ctx context.Context) context.Context {
	return context.WithValue(ctx, wholeKey{}, true)
}

// IsWhole reports whether ctx is one of [WithWhole].
func IsWhole(ctx context.Context) bool { return ctx.Value(wholeKey{}) != nil }

// Shape returns res in the form that was asked for. It does not change res. The rest is
// kept for the user and the conversation of ctx. Under [WithWhole] it only redacts.
func (r *Shaper) Shape(ctx context.Context, from From, res *mcp.CallToolResult) *mcp.CallToolResult {
	if r == nil || res == nil {
		return res
	}
	if r.redactor != nil {
		whole := res
		if res = redactResult(r.redactor, res); res != whole && from.Redacted != nil {
			from.Redacted()
		}
	}
	if IsWhole(ctx) {
		return res
	}
	if r.opts.Wrap && !from.Trusted {
		res = unmark(res)
		return r.fit(ctx, from, res, newEnvelope(from))
	}
	return r.fit(ctx, from, res, nil)
}

// Unmark returns res with nothing in it that looks like the lines of [Options].Wrap, if
// results are wrapped. A nil Shaper returns res.
func (r *Shaper) Unmark(res *mcp.CallToolResult) *mcp.CallToolResult {
	if r == nil || res == nil || !r.opts.Wrap {
		return res
	}
	return unmark(res)
}

// textContent returns content that is one block of text.
func textContent(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

// redactResult returns res without its secrets; res itself if it has none. Secrets that
// no field holds, such as those in unknown members, take only its raw form away.
func redactResult(r *redact.Redactor, res *mcp.CallToolResult) *mcp.CallToolResult {
	res = mapStructured(mapTexts(res, r.Text), func(raw json.RawMessage) json.RawMessage { return r.JSON(raw) })
	return res.CheckRaw(func(raw json.RawMessage) bool { return same(r.JSON(raw), raw) })
}

// same reports whether two slices are one.
func same(a, b json.RawMessage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
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
		if changed := replaceText(&contents.Text, f); replaceText(&contents.URI, f) || changed {
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
	if same(after, raw) {
		return res
	}
	shaped := edited(res)
	shaped.StructuredContent = after
	return shaped
}

// withContent returns a copy of res with other content.
func withContent(res *mcp.CallToolResult, content []mcp.Content) *mcp.CallToolResult {
	shaped := edited(res)
	shaped.Content = content
	return shaped
}

// edited returns a copy of res to be changed. It has no raw form, so that it does not keep
// the bytes alive of what is cut.
func edited(res *mcp.CallToolResult) *mcp.CallToolResult {
	own := *res
	return own.CheckRaw(func(json.RawMessage) bool { return false })
}
