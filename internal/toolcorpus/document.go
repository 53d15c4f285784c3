package toolcorpus

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A Document is what a search may read of a tool.
type Document struct {
	// Key is "server/tool", as in [Query.Relevant].
	Key string
	// Server is the configured name of the server.
	Server string
	// Name is the tool's name.
	Name string
	// Title is the tool's title.
	Title string
	// Description is the tool's description.
	Description string
	// Parameters holds the names and descriptions of the tool's parameters, and of
	// what is inside them, in lines. References are not followed.
	Parameters string
}

// Documents returns the documents of all tools, server by server.
func Documents() []Document {
	var docs []Document
	for _, s := range Servers() {
		for _, tool := range s.Tools {
			var schema any
			_ = json.Unmarshal(tool.InputSchema, &schema) // it is part of a file that could be read
			docs = append(docs, Document{
				Key:         s.Name + "/" + tool.Name,
				Server:      s.Name,
				Name:        tool.Name,
				Title:       tool.Title,
				Description: tool.Description,
				Parameters:  strings.Join(parameters(nil, schema), "\n"),
			})
		}
	}
	return docs
}

// parameters appends the names and descriptions of the properties in a schema.
func parameters(lines []string, schema any) []string {
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			lines = parameters(lines, item)
		}
	case map[string]any:
		props, _ := v["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(props)) {
			lines = append(lines, name)
			if prop, ok := props[name].(map[string]any); ok {
				if text, ok := prop["description"].(string); ok {
					lines = append(lines, text)
				}
			}
			lines = parameters(lines, props[name])
		}
		for _, keyword := range []string{"items", "additionalProperties", "anyOf", "oneOf", "allOf"} {
			lines = parameters(lines, v[keyword])
		}
	}
	return lines
}
