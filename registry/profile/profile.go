package profile

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/registry"
)

// A Provider is a way to tell a model about tools.
type Provider string

// The providers.
const (
	// OpenAI is the API of OpenAI, and of those who copy it, without strict mode.
	OpenAI Provider = "openai"
	// OpenAIStrict is the same with strict mode: the model cannot write arguments
	// that do not fit the schema, which has to be of a form that allows it.
	OpenAIStrict Provider = "openai-strict"
	// Anthropic is the Messages API.
	Anthropic Provider = "anthropic"
	// Gemini is generateContent of the Gemini API and of Vertex AI.
	Gemini Provider = "gemini"
	// Bedrock is Converse of Amazon Bedrock, for all its models.
	Bedrock Provider = "bedrock"
	// Ollama is the chat API of Ollama.
	Ollama Provider = "ollama"
)

// Options are the options of [Compile]. Nil and the zero value mean the defaults.
type Options struct {
	// Deferred says which tools the provider keeps out of the context until the
	// model looks for them. It has an effect on [OpenAI], [OpenAIStrict] and
	// [Anthropic]; the request needs the provider's own search tool then, and one
	// tool that is not deferred. Nil: none. It is called once for each tool.
	Deferred func(*registry.Definition) bool
	// MaxSchemaBytes is how large the schema of a tool becomes at most when its
	// references are written out, in bytes; what goes beyond is cut off, and is a
	// [Loss]. Default: 64 KiB.
	MaxSchemaBytes int
}

// A Tool is a tool as a provider takes it. Do not change it.
type Tool struct {
	// Name is what the provider calls the tool. It is unique in its [Set].
	Name string
	// Description is what the model reads.
	Description string
	// Schema is the schema of the arguments.
	Schema json.RawMessage
	// Strict says that the provider is to hold the model to the schema.
	Strict bool
	// Deferred says that the provider keeps the tool out of the context at first.
	Deferred bool
	// Losses are what the provider does not get, in the order of the places.
	Losses []Loss
	// Definition is what the tool was made of.
	Definition *registry.Definition

	provider Provider
}
