package host

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// The functions of [Options] run on goroutines of the host. Where one panics, or
// returns a pointer to nothing, it has failed for its server.

// caught turns a panic of the program's function into an error.
func (h *Host) caught(name string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panics: %v", name, v)
		if logger := h.opts.Client.Logger; logger != nil {
			logger.Error("host: a function of the program panics", "function", name, "panic", v, "stack", string(debug.Stack()))
		}
	}
}

// need panics if there is no context: on a goroutine of the host that could not be
// recovered.
func need(ctx context.Context) {
	if ctx == nil {
		panic("host: the context is nil")
	}
}

// ownTransport returns what the program makes for an entry, or nil.
func (h *Host) ownTransport(key session.Key, e *config.Server) (t mcp.Transport, err error) {
	if h.opts.Transport == nil {
		return nil, nil
	}
	const name = "Options.Transport"
	defer h.caught(name, &err)
	t, err = h.opts.Transport(key, e)
	if err == nil && t != nil && nils.Is(t) {
		return nil, fmt.Errorf("%s returns a nil %T", name, t)
	}
	return t, err
}

// ownHeaders returns what the program makes for the requests of a user.
func (h *Host) ownHeaders(ctx context.Context, key session.Key, e *config.Server) (header http.Header, err error) {
	if h.opts.UserHeaders == nil {
		return nil, nil
	}
	defer h.caught("Options.UserHeaders", &err)
	return h.opts.UserHeaders(ctx, key, e)
}

// listTools has the registry list the tools of a server. Its options have functions,
// too.
func (h *Host) listTools(server registry.Server, tools []registry.Tool) (diff registry.Diff, err error) {
	defer h.caught("a function of the registry's options", &err)
	return h.registry.ReplaceServer(server, tools)
}
