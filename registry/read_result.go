package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

const readerDescription = "Read on in a result of another tool that was too large to be shown whole, " +
	"with the arguments that stand where something was left out."

// newReader returns the tool read_result.
func newReader(r *result.Shaper) Tool {
	read := func(ctx context.Context, args result.ReadArgs) (*mcp.CallToolResult, error) {
		return r.Read(ctx, args), nil
	}
	f, _ := With(MustFunc(result.ReaderName, readerDescription, read), func(d *Definition) { // all of it is fixed, and tested
		d.Title = "Read a kept result"
		d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	})
	return f
}

// isReader reports whether a tool is read_result, under whatever name.
func isReader(t Tool) bool {
	_, ok := t.(*function[result.ReadArgs, *mcp.CallToolResult])
	return ok
}
