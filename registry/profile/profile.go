package profile

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/registry"
)

// maxSchemaBytes is how large the schema of a tool becomes at most when its
// references are written out; what goes beyond is cut off, and is a [Loss]. A schema that is
// larger by itself is not cut.
const maxSchemaBytes = 64 << 10

// Options are the options of [Compile]. Nil and the zero value mean the defaults.
type Options struct {
	// Deferred says which tools the provider keeps out of the context until the
	// model looks for them. It has an effect on [OpenAI], [OpenAIStrict] and
	// [Anthropic]; the request needs the provider's own search tool then, and one
	// tool that is not deferred. Nil: none. It is called once for each tool.
	Deferred func(*registry.Definition) bool
	// AllowedCallers says who may call a tool, in the provider's words. "direct" is
	// the model itself, and the only one if the list is empty. A program that the
	// model writes is "programmatic" in OpenAI's Responses API, and
	// "code_execution_20260120" or the like for Anthropic; the request needs the
	// provider's tool that runs programs then, see [Set.Programs]. It has an effect on
	// [OpenAI], [OpenAIStrict] and [Anthropic]. Nil: the model calls all tools itself.
	// It is called once for each tool.
	AllowedCallers func(*registry.Definition) []string
}

// A Tool is a tool as a provider takes it. Do not change it. It is safe for
// concurrent use.
type Tool struct {
	// Name is what the provider calls the tool. It is unique in its [Set].
	Name string
	// Description is what the model reads; empty if the tool has none.
	Description string
	// Schema is the schema of the arguments, without white space.
	Schema json.RawMessage
	// Strict says that the provider is to hold the model to the schema.
	Strict bool
	// Deferred says that the provider keeps the tool out of the context at first.
	Deferred bool
	// AllowedCallers are those of [Options], each once; nil: the model alone.
	AllowedCallers []string
	// OutputSchema is the schema of the structured content as the provider is told
	// of it, without white space. It is there for tools that programs may call, where
	// the provider has a place for it, which is [OpenAI] and [OpenAIStrict]; otherwise
	// nil.
	OutputSchema json.RawMessage
	// Losses are what the provider does not get, in the order of the places. At most
	// 256 are listed; of more, there is one that says how many.
	Losses []Loss
	// Definition is what the tool was made of.
	Definition *registry.Definition

	provider Provider
	codec    *codec // nil: the arguments are as the tool wants them
}

// NoTools returns a tool that says that there are none, for a request without tools whose
// conversation has calls, which Anthropic and Bedrock refuse. No registry has it.
func NoTools() *Tool {
	return &Tool{
		Name: "no_tools", Description: "There are no tools now. Do not call this.", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		Definition: &registry.Definition{Name: "no_tools"}, provider: Anthropic,
	}
}
