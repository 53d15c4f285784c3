//go:build unix

package transporttest_test

import (
	"context"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// wedges are servers that stay connected and are of no use. The client's limits are
// those of a program that goes on calling.
func wedges() []row {
	inUse := func(_ *cell, o *mcp.ClientOptions) {
		o.IdleTimeout, o.CallTimeout, o.HealthInterval = 300*time.Millisecond, 10*time.Minute, 100*time.Millisecond
	}
	unknown := outcome(mcp.Unknown)
	return []row{
		{id: "31.1", name: "half a line, then silence, in use", deed: "partial", wires: everyWire(), waits: true, heals: true, tune: inUse, expect: unknown},
		{id: "31.2", name: "stopped process in use", deed: "stop", wires: everyWire(), waits: true, heals: true, tune: inUse, expect: unknown},
		{id: "34", name: "flood of questions", deed: "questions", hit: 1, wires: everyWire(), events: true, heavy: true, heals: true, harmless: true,
			tune: func(c *cell, o *mcp.ClientOptions) {
				o.Elicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					c.questions.Add(1)
					return nil, nil
				}
			},
			end: func(c *cell) {
				// Up to three calls are made at the same time.
				if n := c.questions.Load(); n < 16 || n > 3*16 {
					c.fail(wrong, "%d questions came to the user, want 16 for a call", n)
				}
				if c.client.State().QuestionsDeclined == 0 {
					c.fail(wrong, "the state names no question that was declined")
				}
			}},
	}
}
