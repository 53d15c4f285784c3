package otel

import "github.com/mcpbelt/mcpbelt/mcp"

// outgoing writes into a request of ours: its _meta, and the header of its HTTP
// request. A trace that the caller put into _meta stays as it is.
type outgoing struct{ r *mcp.RequestInfo }

func (c outgoing) Get(key string) string {
	value, _ := c.r.Meta(key)
	return value
}

func (c outgoing) Set(key, value string) {
	if _, own := c.r.Meta(traceParent); !own || key != traceParent && key != traceState {
		c.r.AddMeta(key, value)
	}
	c.r.AddHeader(key, value)
}

func (outgoing) Keys() []string { return nil }

// The two belong together: one of ours beside one of the caller's would be wrong.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// incoming reads from _meta of a request of the server.
type incoming struct{ outgoing }

func (incoming) Set(string, string) {}
