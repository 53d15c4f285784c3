package registry

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// How much memory something takes is estimated, rather as more than as less. A number
// beyond the bound that is given says only that it is more.

// memory returns about how many bytes a definition takes.
func (d *Definition) memory() int {
	total := memoryOfDefinition(d)
	if d.served != nil {
		total += memoryOfDefinition(d.served)
	}
	return total
}

func memoryOfDefinition(d *Definition) int {
	return len(d.called()) + len(d.Title) + len(d.Description) + len(d.InputSchema) + len(d.OutputSchema) + len(d.RawAnnotations)
}

// errorOverhead is what an error takes in memory beside what it holds.
const errorOverhead = 512

// memoryOfError returns about how many bytes an error takes, as far as that can be
// known: those that hold what a server sent are.
func memoryOfError(err error, most int) int {
	if err == nil {
		return 0
	}
	total := errorOverhead + len(err.Error())
	var (
		answered *mcp.JSONRPCError
		output   *mcp.OutputError
		unusable *ResultError
		panicked *PanicError
	)
	if errors.As(err, &answered) && answered != nil {
		total += len(answered.Message) + len(answered.Data)
	}
	if errors.As(err, &output) && output != nil {
		total += result.Memory(output.Result, most)
	}
	if errors.As(err, &unusable) && unusable != nil {
		total += result.Memory(unusable.Result, most)
	}
	if errors.As(err, &panicked) && panicked != nil {
		total += len(panicked.Stack)
	}
	return total
}

// detached returns a copy of a result, which shares its blocks, and does not keep the
// whole message alive that it came in.
func detached(res *mcp.CallToolResult) *mcp.CallToolResult {
	res = shared(res)
	if res != nil {
		if raw, ok := res.StructuredContent.(json.RawMessage); ok {
			res.StructuredContent = json.RawMessage(bytes.Clone(raw))
		}
	}
	return res
}
