package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// ResultOptions say in which form results come back from [Registry.Call]. A nil
// *ResultOptions leaves them as they came.
type ResultOptions struct{}

// results shapes results.
type results struct{ opts ResultOptions }

func newResults(opts *ResultOptions) *results {
	if opts == nil {
		return nil
	}
	return &results{*opts}
}

// tool returns the tool read_result, or nil if nothing is ever kept.
func (r *results) tool() Tool { return nil }

// shape returns res in the form that was asked for. It does not change res.
func (r *results) shape(ctx context.Context, e *entry, res *mcp.CallToolResult) *mcp.CallToolResult {
	return res
}

// Withheld is what a model gets in place of a result that went to the user, see
// Definition.ReturnDirect.
const Withheld = "The result was shown to the user. It is withheld here."
