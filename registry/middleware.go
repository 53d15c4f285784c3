package registry

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Call is one call on its way to a tool.
type Call struct {
	// Tool describes the tool that is called. Do not change it.
	Tool *Definition
	// Args are the arguments, a JSON object. Middleware may replace them for
	// the handlers after it, best in a copy of the Call; the bytes themselves
	// belong to the caller and must not be written to.
	Args json.RawMessage

	entry   *entry // of the tool
	chain   *chain // the middleware of this call
	forward bool   // the caller, too, looks at no content
}

// A passer passes calls on to their tools: a Registry.
type passer interface {
	pass(ctx context.Context, e *entry, args json.RawMessage, forward bool) (*mcp.CallToolResult, error)
}

// A chain is the middleware of calls, outermost first. It does not change.
type chain struct {
	handlers []Handler
	looks    bool   // at results; else at errors alone
	passer   passer // after the last of them
}

// A Handler carries out a call. It is safe for concurrent use.
type Handler func(ctx context.Context, call *Call) (*mcp.CallToolResult, error)

// A Middleware wraps the handler that comes after it. The handler that it
// returns may answer by itself, or pass the call, or a copy of it, on to next:
// not at all, once, or again.
type Middleware func(next Handler) Handler

// run carries out the call from the given position of its chain on.
func (c *Call) run(ctx context.Context, position int) (*mcp.CallToolResult, error) {
	if c == nil || c.entry == nil {
		return nil, errors.New("registry: middleware passed on a Call of its own making; pass on the one that it got, or a copy")
	}
	if position < len(c.chain.handlers) {
		return c.chain.handlers[position](ctx, c)
	}
	return c.chain.passer.pass(ctx, c.entry, c.Args, c.forward)
}
