package genkit

import (
	"encoding/json"
	"slices"

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
		return geminiSchema(schema)
	}
	return schema
}

// geminiFormats are those that Gemini takes in the field that the plugin writes to.
func geminiFormats(format any) bool {
	return slices.Contains([]any{"enum", "date-time", "float", "double", "int32", "int64"}, format)
}

// geminiSchema returns a schema of [profile.Gemini] without what the plugin
// googlegenai gives up a request for: it wants one type everywhere. Of alternatives
// the first remains. The registry holds arguments against the tool's own schema.
func geminiSchema(schema map[string]any) map[string]any {
	out := map[string]any{}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if first := firstSchema(schema[keyword]); first != nil {
			out = geminiSchema(first)
		}
	}
	for keyword, value := range schema {
		switch keyword {
		case "type":
			out["type"] = oneType(value)
		case "format":
			if geminiFormats(value) {
				out[keyword] = value
			}
		case "properties":
			properties, _ := value.(map[string]any)
			all := make(map[string]any, len(properties))
			for name, p := range properties {
				property, _ := p.(map[string]any)
				all[name] = geminiSchema(property)
			}
			out[keyword] = all
		case "items":
			items, _ := value.(map[string]any)
			out[keyword] = geminiSchema(items)
		case "anyOf", "oneOf", "prefixItems", "additionalProperties":
		default:
			out[keyword] = value
		}
	}
	if out["type"] == nil {
		out["type"] = "string"
	}
	if out["type"] == "array" && out["items"] == nil {
		out["items"] = geminiSchema(firstSchema(schema["prefixItems"]))
	}
	return out
}

// firstSchema returns the first of schemas that is not that of null; nil: none.
func firstSchema(list any) map[string]any {
	schemas, _ := list.([]any)
	for _, s := range schemas {
		if schema, ok := s.(map[string]any); ok && schema["type"] != "null" {
			return schema
		}
	}
	return nil
}

// oneType returns the first of types that is not null, which the plugin does not take; text if there is none.
func oneType(value any) any {
	types, ok := value.([]any)
	if !ok {
		types = []any{value}
	}
	for _, t := range types {
		if t != "null" {
			return t
		}
	}
	return "string"
}
