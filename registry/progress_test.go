package registry_test

import (
	"context"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestProgress(t *testing.T) {
	tool := makeFunc(t, func(ctx context.Context, _ none) (none, error) {
		registry.ReportProgress(ctx, &mcp.ProgressParams{Progress: 1})
		registry.ReportProgress(ctx, nil)
		registry.ReportProgress(ctx, &mcp.ProgressParams{Progress: 2})
		return none{}, nil
	})
	var seen []float64
	ctx := registry.WithProgress(t.Context(), func(p *mcp.ProgressParams) { seen = append(seen, p.Progress) })
	for _, ctx := range []context.Context{t.Context(), ctx, registry.WithProgress(ctx, nil)} {
		assert.Value(tool.Call(ctx, nil))(t)
	}
	if !slices.Equal(seen, []float64{1, 2}) {
		t.Errorf("progress = %v, want 1 and 2 of the second call", seen)
	}
}
