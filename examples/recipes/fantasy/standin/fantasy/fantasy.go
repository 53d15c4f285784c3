// Package fantasy stands in for charm.land/fantasy: what the recipe uses of it.
package fantasy

import "context"

// A ToolInfo is what a model is told of a tool. Parameters are the properties of its
// schema, of whose root nothing else is told but Required.
type ToolInfo struct {
	Name, Description string
	Parameters        map[string]any
	Required          []string
	// Parallel lets the tool run beside others, in streams.
	Parallel bool
}

// A ToolCall is a call of a model.
type ToolCall struct {
	ID, Name, Input string
}

// A ToolResponse is the result of a call: text, or one image or file with a text.
type ToolResponse struct {
	// Type is "text", "image" or "media".
	Type, Content string
	Data          []byte
	MediaType     string
	Metadata      string
	IsError       bool
	// StopTurn ends the agent's turn when all calls of the message are over.
	StopTurn bool
}

// ProviderOptions are options of providers for a tool.
type ProviderOptions map[string]any

// An AgentTool is a tool of an agent. An error of Run becomes the result, as one that
// the program finds in the step, and the model reads.
type AgentTool interface {
	Info() ToolInfo
	Run(ctx context.Context, params ToolCall) (ToolResponse, error)
	ProviderOptions() ProviderOptions
	SetProviderOptions(opts ProviderOptions)
}

// PrepareStepFunctionOptions are what an agent tells before a step.
type PrepareStepFunctionOptions struct {
	StepNumber int
}

// A PrepareStepResult is what a step has in place of what the agent began with. Tools
// that are nil are those.
type PrepareStepResult struct {
	Tools []AgentTool
}

// A PrepareStepFunction is called before each step.
type PrepareStepFunction = func(context.Context, PrepareStepFunctionOptions) (context.Context, PrepareStepResult, error)
