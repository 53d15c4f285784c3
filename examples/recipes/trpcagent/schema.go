package trpcagent

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/mcpbelt/mcpbelt/examples/recipes/trpcagent/standin/tool"
)

// schemaOf returns a schema without references as a tool.Schema. What that cannot say
// stands in the description, as JSON. The tool checks it in any case.
func schemaOf(raw json.RawMessage) *tool.Schema {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var node map[string]any
	if err := dec.Decode(&node); err != nil || node == nil {
		return &tool.Schema{Type: "object"}
	}
	return convert(node)
}

func convert(node map[string]any) *tool.Schema {
	node = withoutNull(node)
	s := &tool.Schema{}
	rest := map[string]any{}
	for key, value := range node {
		if !take(s, key, value) {
			rest[key] = value
		}
	}
	if len(rest) > 0 {
		data, err := json.Marshal(rest) // sorted
		if err == nil {
			s.Description = strings.TrimSpace(s.Description + " It matches this JSON Schema: " + string(data))
		}
	}
	return s
}

// take puts a keyword into s, if there is a place for it.
func take(s *tool.Schema, key string, value any) (ok bool) {
	switch key {
	case "type":
		s.Type, ok = value.(string)
	case "description":
		s.Description, ok = value.(string)
	case "pattern":
		s.Pattern, ok = value.(string)
	case "minimum":
		s.Minimum, ok = value.(json.Number)
	case "maximum":
		s.Maximum, ok = value.(json.Number)
	case "exclusiveMinimum":
		s.ExclusiveMinimum, ok = value.(json.Number)
	case "exclusiveMaximum":
		s.ExclusiveMaximum, ok = value.(json.Number)
	case "additionalProperties":
		s.AdditionalProperties, ok = value, true
	case "default":
		s.Default, ok = value, true
	case "enum":
		s.Enum, ok = value.([]any)
	case "required":
		s.Required, ok = names(value)
	case "items":
		var node map[string]any
		if node, ok = value.(map[string]any); ok {
			s.Items = convert(node)
		}
	case "properties":
		var nodes map[string]any
		if nodes, ok = value.(map[string]any); ok {
			s.Properties = map[string]*tool.Schema{}
			for name, v := range nodes {
				node, _ := v.(map[string]any) // true, or nothing, allows all
				s.Properties[name] = convert(node)
			}
		}
	}
	return ok
}

func names(value any) ([]string, bool) {
	list, ok := value.([]any)
	var all []string
	for _, v := range list {
		name, isText := v.(string)
		all, ok = append(all, name), ok && isText
	}
	return all, ok
}

// withoutNull returns a schema that does not offer null beside one other type, which a
// tool.Schema cannot: the model may leave the argument out.
func withoutNull(node map[string]any) map[string]any {
	if types, ok := names(node["type"]); ok && len(types) == 2 {
		for i, name := range types {
			if name == "null" {
				node = maps.Clone(node)
				node["type"] = types[1-i]
			}
		}
	}
	members, _ := node["anyOf"].([]any)
	if len(members) != 2 {
		return node
	}
	for i, m := range members {
		null, _ := m.(map[string]any)
		other, ok := members[1-i].(map[string]any)
		if len(null) != 1 || null["type"] != "null" || !ok {
			continue
		}
		merged := maps.Clone(node)
		delete(merged, "anyOf")
		for key, value := range other {
			if _, taken := merged[key]; taken && key != "description" {
				return node
			} else if !taken {
				merged[key] = value
			}
		}
		return withoutNull(merged)
	}
	return node
}
