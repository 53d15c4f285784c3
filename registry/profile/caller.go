package profile

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// direct is the caller that is the model itself, for all providers.
const direct = "direct"

// callersOf returns who may call a tool, each once; nil for the model alone.
func callersOf(def *registry.Definition, o *Options) []string {
	if o.AllowedCallers == nil {
		return nil
	}
	var callers []string
	for _, caller := range o.AllowedCallers(def) {
		if caller = strings.TrimSpace(caller); caller != "" && !slices.Contains(callers, caller) {
			callers = append(callers, caller)
		}
	}
	if len(callers) == 1 && callers[0] == direct {
		return nil // as if nothing was said
	}
	return callers
}

// Programs reports whether programs that the model writes may call the tool.
func (t *Tool) Programs() bool {
	return slices.ContainsFunc(t.AllowedCallers, func(caller string) bool { return caller != direct })
}

// outputOf returns the schema of a tool's structured content as the provider takes
// it: in the form in which it takes one of arguments that are not checked. One that
// it cannot be told is a loss, and the tool goes without.
func outputOf(def *registry.Definition, o *Options, losses *ledger) json.RawMessage {
	if len(def.OutputSchema) == 0 {
		return nil
	}
	err := schemagate.Check(def.OutputSchema, schemagate.Limits{})
	if err == nil {
		d, _ := rulesOf(OpenAI)
		var out *compiled
		if out, err = newCompiler(d, readNode(def.OutputSchema), o.MaxSchemaBytes).compile(); err == nil {
			return out.schema.append(nil)
		}
		err = errors.New("it is not that of a JSON object")
	}
	losses.add(OutputDropped, Unsaid, nil, "the provider is not told the schema of the results: %v", err)
	return nil
}
