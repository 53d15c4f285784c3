package host

import (
	"log/slog"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// logger returns the host's logger, which may discard everything.
func (h *Host) logger() *slog.Logger {
	if l := h.opts.Client.Logger; l != nil {
		return l
	}
	return slog.New(slog.DiscardHandler)
}

// warn tells the logger what looks like a mistake in a config.
func (h *Host) warn(c *config.Config) {
	of := map[*config.Error]string{}
	for _, entry := range c.Servers {
		for _, warning := range entry.Warnings {
			of[warning] = entry.Name
		}
	}
	for _, warning := range c.Warnings {
		if server := of[warning]; server != "" {
			h.logger().Warn("host: configuration", "server", server, "warning", warning)
		} else {
			h.logger().Warn("host: configuration", "warning", warning)
		}
	}
}
