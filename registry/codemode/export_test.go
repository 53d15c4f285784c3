package codemode

import (
	"context"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
)

func init() { startTimeout = 10 * time.Minute } // for machines that are busy

// NewProcessEngine returns the engine that a Runner has by default.
func NewProcessEngine() (Engine, error) { return newProcessEngine("") }

// WithPass returns a context under which one call of a tool, without arguments, is allowed.
func WithPass(ctx context.Context, def *registry.Definition) context.Context {
	return newPlan(&Plan{Calls: []PlannedCall{{Tool: def}}}).pass(ctx, def, nil)
}
