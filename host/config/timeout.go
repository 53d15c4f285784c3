package config

import (
	"cmp"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func (e *entry) timeouts(s *Server) {
	s.IdleTimeout = e.duration("idleTimeoutSeconds", time.Second)
	s.ConnectTimeout = cmp.Or(e.duration("connectTimeoutSeconds", time.Second), e.duration(dialect.ConnectMilliseconds, time.Millisecond))
	unit := time.Millisecond
	if e.client.seconds {
		unit = time.Second
	}
	timeout := e.duration("timeout", unit)
	if timeout > 0 && timeout < time.Second && !e.client.seconds {
		m := e.field("timeout")
		e.warn(m.Offset, m.At, "is in milliseconds; less than 1000 is ignored: write \"readTimeoutSeconds\"")
		timeout = 0
	}
	s.ReadTimeout = cmp.Or(e.duration("readTimeoutSeconds", time.Second), timeout, e.duration(dialect.ReadMilliseconds, time.Millisecond))
}

// duration returns the number of units that a key holds; 0 if there is none.
func (e *entry) duration(key string, unit time.Duration) time.Duration {
	m := e.field(key)
	if m == nil || !e.check(m.Value, m.At, jsonc.Number) {
		return 0
	}
	// The literal is a JSON number, so the only error is one out of range, and
	// then n is an infinity.
	n, _ := strconv.ParseFloat(m.Value.Text, 64)
	switch {
	case n < 0:
		e.fail(m.Value.Offset, m.At, "must not be negative: write 0 or leave it out for the default")
	case n > float64(dialect.MaxTimeout/unit):
		e.fail(m.Value.Offset, m.At, "is more than a year: write a smaller number")
	default:
		return time.Duration(n * float64(unit))
	}
	return 0
}
