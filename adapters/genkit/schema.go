package genkit

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// schemasOf returns the provider that schemas are compiled for, which is not always that
// of the model: the plugin for Anthropic sends nothing of a root but its properties, as
// Bedrock wants it.
func schemasOf(p profile.Provider) profile.Provider {
	if p == profile.Anthropic {
		return profile.Bedrock
	}
	return p
}

// inputSchema returns a schema as a plugin takes it, another copy each time; nil:
// none.
func (t *tool) inputSchema() map[string]any {
	var schema map[string]any
	if len(t.schema) == 0 || json.Unmarshal(t.schema, &schema) != nil {
		return nil
	}
	if t.turn.opts.Provider == profile.Gemini {
		if properties, _ := schema["properties"].(map[string]any); len(properties) == 0 {
			return nil
		}
		return profile.OneType(t.schema) // the plugin googlegenai gives up a request for others
	}
	return schema
}
