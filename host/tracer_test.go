package host_test

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A tracer notes whose calls it is to record.
type tracer struct {
	registry *registry.Registry
	stopped  int
}

func (*tracer) RequestStart(ctx context.Context, _ *mcp.RequestInfo) context.Context { return ctx }
func (*tracer) RequestEnd(context.Context, *mcp.RequestInfo)                         {}
func (t *tracer) Registry(r *registry.Registry) (stop func()) {
	t.registry = r
	return func() { t.stopped++ }
}

// A tracer that can is told of the registry, until the host is closed.
func TestTracerOfRegistry(t *testing.T) {
	seen := &tracer{}
	h := host.New(&host.Options{StateDir: host.NoState, Client: mcp.ClientOptions{Tracer: seen}})
	if seen.registry != h.Registry() || seen.stopped != 0 {
		t.Errorf("%+v", seen)
	}
	for range 2 {
		assert.OK(t, h.Close())
	}
	assert.Equal(t, seen.stopped, 1, "stopped times")
}
