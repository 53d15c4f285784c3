// Package tool stands in for google.golang.org/adk/v2/tool.
package tool

import "github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/agent"

// A Tool is what an agent can have. One that can be called has Declaration, Run and
// ProcessRequest beside these, which ADK asks for as it runs.
type Tool interface {
	Name() string
	Description() string
	IsLongRunning() bool
}

// A Toolset is asked for its tools when an agent needs them.
type Toolset interface {
	Name() string
	Tools(ctx agent.ReadonlyContext) ([]Tool, error)
}
