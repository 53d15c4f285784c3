package host

import (
	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/session"
)

// oauth returns what logs the user of a key in at a server, or nil.
func (h *Host) oauth(key session.Key, e *config.Server) auth.OAuthHandler {
	if h.opts.OAuth == nil {
		return nil
	}
	return h.opts.OAuth(key)
}
