// Package tool stands in for trpc.group/trpc-go/trpc-agent-go/tool: what the recipe uses
// of it.
package tool

import (
	"context"
	"encoding/json"
)

// A Tool is what an agent can have.
type Tool interface {
	Declaration() *Declaration
}

// A CallableTool can be called. The result goes to the model as JSON; an error as text,
// but for one that stops the agent.
type CallableTool interface {
	Call(ctx context.Context, jsonArgs []byte) (any, error)
	Tool
}

// A ToolSet is asked for its tools when an agent needs them.
type ToolSet interface {
	Tools(context.Context) []Tool
	Close() error
	Name() string
}

// A Declaration is what a model is told of a tool.
type Declaration struct {
	Name         string  `json:"name"`
	Description  string  `json:"description"`
	InputSchema  *Schema `json:"inputSchema"`
	OutputSchema *Schema `json:"outputSchema,omitempty"`
}

// A Schema is what can be said of JSON Schema.
type Schema struct {
	Type                 string             `json:"type,omitempty"`
	Description          string             `json:"description,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	Minimum              json.Number        `json:"minimum,omitempty"`
	Maximum              json.Number        `json:"maximum,omitempty"`
	ExclusiveMinimum     json.Number        `json:"exclusiveMinimum,omitempty"`
	ExclusiveMaximum     json.Number        `json:"exclusiveMaximum,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"`
	Default              any                `json:"default,omitempty"`
	Enum                 []any              `json:"enum,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Defs                 map[string]*Schema `json:"$defs,omitempty"`
}
