package registry

import (
	"bytes"

	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// describedPlainly returns a tool without such characters in what models are told of it.
// The ledger compares what the server says.
func describedPlainly(t Tool, def *Definition) (Tool, *Definition) {
	title, description := textguard.Strip(def.Title), textguard.Strip(def.Description)
	input, output := result.StripHiddenJSON(def.InputSchema), result.StripHiddenJSON(def.OutputSchema)
	if title == def.Title && description == def.Description && bytes.Equal(input, def.InputSchema) && bytes.Equal(output, def.OutputSchema) {
		return t, def
	}
	plain := *def
	plain.served = def.asServed()
	plain.Title, plain.Description, plain.InputSchema, plain.OutputSchema = title, description, input, output
	return redefine(t, &plain), &plain
}
