package profile

import (
	"encoding/json"
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
// it cannot be told is left out.
func outputOf(def *registry.Definition) json.RawMessage {
	if len(def.OutputSchema) == 0 {
		return nil
	}
	if schemagate.Check(def.OutputSchema) != nil {
		return nil
	}
	d, _ := rulesOf(OpenAI)
	out, err := newCompiler(d, readNode(def.OutputSchema)).compile()
	if err != nil {
		return nil
	}
	return out.schema.append(nil)
}
