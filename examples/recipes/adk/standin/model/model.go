// Package model stands in for google.golang.org/adk/v2/model: what the recipe for ADK
// uses of it.
package model

import "github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/genai"

// An LLMRequest is a request to a model.
type LLMRequest struct {
	Config *genai.GenerateContentConfig
	// Tools are by name.
	Tools map[string]any
}
