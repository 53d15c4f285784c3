// Package genai stands in for google.golang.org/genai: what the recipe for ADK uses
// of it.
package genai

// A FunctionDeclaration is what a model is told of a function.
type FunctionDeclaration struct {
	Name, Description    string
	ParametersJsonSchema any
}

// A Tool holds functions.
type Tool struct {
	FunctionDeclarations []*FunctionDeclaration
}

// A GenerateContentConfig is what goes with the contents of a request.
type GenerateContentConfig struct {
	Tools []*Tool
}
