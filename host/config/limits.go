package config

import "github.com/mcpbelt/mcpbelt/internal/jsonc"

// Limits bound what a server may do, the key "limits". Zero means the default of the
// package that applies them, and a negative limit that there is none.
type Limits struct {
	MaxTools    int   `json:"maxTools,omitempty"`        // tools in its list
	MaxInFlight int   `json:"maxInFlight,omitempty"`     // requests that wait for it at one time
	MaxQueued   int   `json:"maxQueued,omitempty"`       // requests that wait for their turn
	MaxMessage  int64 `json:"maxMessageBytes,omitempty"` // bytes of one message of the server
	// MaxArguments are the bytes of what a request brings along, such as the arguments of a tool.
	MaxArguments int64 `json:"maxArgumentBytes,omitempty"`
}

// The largest values of limits, far from overflow on every platform.
const (
	maxLimit        = 1 << 20
	maxLimitMessage = 1 << 30
)

// limits reads what the server may do. An unknown key is a fault: a misspelled limit
// would let everything through.
func (e *entry) limits(s *Server) {
	f := e.field("limits")
	if f == nil {
		return
	}
	limit := func(n *jsonc.Node, at jsonc.Path) int { return int(e.count(n, at, -1, maxLimit)) }
	bytes := func(n *jsonc.Node, at jsonc.Path) int64 { return e.count(n, at, -1, maxLimitMessage) }
	e.object(f.Value, f.At, true,
		key{"maxTools", set(&s.Limits.MaxTools, limit)},
		key{"maxInFlight", set(&s.Limits.MaxInFlight, limit)},
		key{"maxQueued", set(&s.Limits.MaxQueued, limit)},
		key{"maxMessageBytes", set(&s.Limits.MaxMessage, bytes)},
		key{"maxArgumentBytes", set(&s.Limits.MaxArguments, bytes)})
}
