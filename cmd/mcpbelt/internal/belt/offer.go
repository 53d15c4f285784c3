package belt

import (
	"context"
	"errors"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Offered returns the tools that a server lists, as a registry would have them, whether the
// ledger accepts them or not. The server is started for it, and nothing is kept; the tools
// cannot be called. The error is explained, see [Explain].
func Offered(ctx context.Context, h *host.Host, s *config.Server) ([]registry.Tool, error) {
	var tools []registry.Tool
	err := h.Try(ctx, s, nil, func(ctx context.Context, t mcp.Transport, o *mcp.ClientOptions) (err error) {
		client := mcp.NewClient(s.Name, t, o)
		defer func() { err = errors.Join(err, client.Close()) }()
		if err := client.Ready(ctx); err != nil {
			return err
		}
		list, err := client.Tools(ctx)
		if err != nil {
			return err
		}
		for _, t := range list {
			tools = append(tools, registry.Remote(s.Name, t, client.CallTool))
		}
		return nil
	})
	if err == nil {
		err = ctx.Err()
	}
	return tools, Explain(s, err)
}
