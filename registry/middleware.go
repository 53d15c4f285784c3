package registry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

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

	registry *Registry
	entry    *entry // of the tool
	chain    *chain // the middleware of this call
	forward  bool   // the caller, too, looks at no content
}

// A chain is the middleware of calls, outermost first. It does not change.
type chain struct {
	handlers []Handler
	looks    bool // at results; else at errors alone
}

// A Handler carries out a call. It is safe for concurrent use.
type Handler func(ctx context.Context, call *Call) (*mcp.CallToolResult, error)

// A Middleware wraps the handler that comes after it. The handler that it
// returns may answer by itself, or pass the call, or a copy of it, on to next:
// not at all, once, or again.
type Middleware func(next Handler) Handler

// Use adds middleware to all later calls of [Registry.Call]. The first that was
// added is the outermost. Each is applied once, here, and may use the registry as
// it likes; nil is skipped. Use is safe for concurrent use, and calls on their way
// keep the middleware that they began with.
func (r *Registry) Use(middleware ...Middleware) { r.use(true, middleware) }

// UseForErrors is [Registry.Use] for middleware that looks at errors, and passes results on without a
// look: the content of those of [Registry.Forward] may be missing.
func (r *Registry) UseForErrors(middleware ...Middleware) { r.use(false, middleware) }

func (r *Registry) use(looks bool, middleware []Middleware) {
	r.mustBeMade()
	first := new(int) // where these are in the chain; set before they can be called
	var handlers []Handler
	for _, m := range middleware {
		if m == nil {
			continue
		}
		at := len(handlers)
		next := func(ctx context.Context, call *Call) (*mcp.CallToolResult, error) {
			return call.run(ctx, *first+at+1)
		}
		handler := m(next)
		if handler == nil {
			handler = next
		}
		handlers = append(handlers, handler)
	}
	if handlers == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.chain.Load()
	*first = len(last.handlers)
	r.chain.Store(&chain{slices.Concat(last.handlers, handlers), last.looks || looks})
}

// run carries out the call from the given position of its chain on.
func (c *Call) run(ctx context.Context, position int) (*mcp.CallToolResult, error) {
	if c == nil || c.entry == nil {
		return nil, errors.New("registry: middleware passed on a Call of its own making; pass on the one that it got, or a copy")
	}
	if position < len(c.chain.handlers) {
		return c.chain.handlers[position](ctx, c)
	}
	return c.registry.pass(ctx, c.entry, c.Args, c.forward)
}
