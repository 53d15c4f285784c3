package profile

import (
	"encoding/json"
	"slices"
	"strings"
)

// OneType returns a compiled schema for frameworks whose converters, mostly those for
// Gemini, know one type for each value and nothing else: the first of the alternatives
// that is not null, text for any value, items for each array, and nothing required that is
// not a property. Where null is the only other one, the description says so, and which values
// there are where the schema lists them: some converters drop that, and fail if one is no
// text, so that the description alone has these. The registry holds arguments against the tool's own schema, whatever the model was told. It is another copy
// each time.
func OneType(schema json.RawMessage) map[string]any {
	root := map[string]any{}
	if json.Unmarshal(schema, &root) != nil || root["type"] == nil {
		root = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return oneType(root)
}

func oneType(schema map[string]any) map[string]any {
	out, null := map[string]any{}, false
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[keyword].([]any)
		first := slices.IndexFunc(list, func(s any) bool { return typeIn(s) != "null" })
		if first >= 0 {
			out = oneTypeOf(list[first])
		}
		null = null || len(list) == 2 && slices.ContainsFunc(list, func(s any) bool { return typeIn(s) == "null" })
	}
	types, ok := schema["type"].([]any)
	if !ok && schema["type"] != nil {
		types = []any{schema["type"]}
	}
	if first := slices.IndexFunc(types, func(t any) bool { return t != "null" }); first >= 0 {
		out["type"] = types[first]
	}
	null = null || len(types) == 2 && slices.Contains(types, any("null"))
	for keyword, value := range schema {
		switch keyword {
		case "type", "allOf", "anyOf", "oneOf", "prefixItems", "additionalProperties":
		case "format":
			if slices.Contains([]any{"enum", "date-time", "float", "double", "int32", "int64"}, value) { // which Gemini takes
				out[keyword] = value
			}
		case "properties":
			all := map[string]any{}
			properties, _ := value.(map[string]any)
			for name, property := range properties {
				all[name] = oneTypeOf(property)
			}
			out[keyword] = all
		case "items":
			out[keyword] = oneTypeOf(value)
		case "const":
			out["enum"] = []any{value}
		default:
			out[keyword] = value
		}
	}
	enum, _ := out["enum"].([]any)
	if out["type"] == nil {
		out["type"] = listedType(enum)
	}
	if out["type"] == "array" && out["items"] == nil {
		var first any
		if list, _ := schema["prefixItems"].([]any); len(list) > 0 {
			first = list[0]
		}
		out["items"] = oneTypeOf(first)
	}
	if required, ok := out["required"].([]any); ok {
		properties, _ := out["properties"].(map[string]any)
		out["required"] = slices.DeleteFunc(required, func(name any) bool {
			text, _ := name.(string)
			return properties[text] == nil
		})
	}
	description, _ := out["description"].(string)
	if enum != nil {
		values, _ := json.Marshal(enum) // they were JSON
		description += "\nOne of " + string(values) + "."
		if slices.ContainsFunc(enum, func(v any) bool { _, text := v.(string); return !text }) {
			delete(out, "enum") // converters take text alone, and fail with all tools
		}
	}
	if null {
		description += "\nMay be null."
	}
	if description != "" {
		out["description"] = strings.TrimPrefix(description, "\n")
	}
	return out
}

// oneTypeOf returns the schema inside another; of none, and of true, that of text.
func oneTypeOf(schema any) map[string]any {
	object, _ := schema.(map[string]any)
	return oneType(object)
}

// listedType returns the type of the first simple value that an enum has; that of text, if there
// is none.
func listedType(enum []any) string {
	for _, value := range enum {
		switch value.(type) {
		case string:
			return "string"
		case float64:
			return "number"
		case bool:
			return "boolean"
		}
	}
	return "string"
}

// typeIn returns the type that a schema writes; nil: none.
func typeIn(schema any) any {
	object, _ := schema.(map[string]any)
	return object["type"]
}
