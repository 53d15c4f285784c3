package config

import "github.com/mcpbelt/mcpbelt/internal/jsonc"

// Limits bound what a server may do, the key "limits". Zero means the default of the
// package that applies them, and a negative limit that there is none.
type Limits struct {
	MaxTools    int   `json:"maxTools,omitempty"`        // tools in its list
	MaxInFlight int   `json:"maxInFlight,omitempty"`     // requests that wait for it at one time
	MaxQueued   int   `json:"maxQueued,omitempty"`       // requests that wait for their turn
	MaxMessage  int64 `json:"maxMessageBytes,omitempty"` // bytes of one message
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
	known := []string{"maxTools", "maxInFlight", "maxQueued", "maxMessageBytes"}
	e.members(f, known, true, func(key string, at jsonc.Path, m *jsonc.Member) {
		n := &m.Value
		switch key {
		case "maxTools":
			s.Limits.MaxTools = int(e.count(n, at, -1, maxLimit))
		case "maxInFlight":
			s.Limits.MaxInFlight = int(e.count(n, at, -1, maxLimit))
		case "maxQueued":
			s.Limits.MaxQueued = int(e.count(n, at, -1, maxLimit))
		case "maxMessageBytes":
			s.Limits.MaxMessage = e.count(n, at, -1, maxLimitMessage)
		}
	})
}
