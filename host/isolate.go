package host

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An Isolator confines the process of a local server.
type Isolator interface {
	// Isolate returns how the server is started confined as the entry says. It does
	// not change c. If it cannot confine it, it fails: a server that is to be
	// confined is never started otherwise.
	Isolate(e *config.Server, c *transport.Command) (*transport.Command, error)
}

// isolate returns c confined as the entry says.
func (h *Host) isolate(e *config.Server, c *transport.Command) (*transport.Command, error) {
	if e.Isolation == nil || e.Isolation.Kind == config.IsolationNone {
		return c, nil
	}
	isolator := h.opts.Isolators[e.Isolation.Kind]
	if isolator == nil {
		return nil, fmt.Errorf("isolation %q is not available", e.Isolation.Kind)
	}
	return isolator.Isolate(e, c)
}
