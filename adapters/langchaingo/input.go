package langchaingo

import (
	"encoding/json"
	"slices"
	"strings"
)

// placeholder is the argument that an agent gives every tool in its own schema.
const placeholder = "__arg1"

// arguments returns what an agent wrote as a JSON object, and whether it can. A text that
// is no object is the value of the only argument, if that may be a string.
func (a *agentTool) arguments(input string) (json.RawMessage, bool) {
	known := properties(a.tool.Definition.InputSchema)
	text := unfenced(strings.TrimSpace(input))
	if _, real := known[placeholder]; !real {
		text = unwrapped(text)
	}
	if text == "" || text == "null" {
		return json.RawMessage(`{}`), true
	}
	if isObject(text) {
		return json.RawMessage(text), true
	}
	if len(known) != 1 || strings.HasPrefix(text, "{") {
		return nil, false // it may be an object that was cut off
	}
	for name, schema := range known {
		if takesString(schema) {
			args, err := json.Marshal(map[string]string{name: unquoted(text)})
			return args, err == nil
		}
	}
	return nil, false
}

func isObject(text string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &o) == nil
}

// unfenced returns the text in a block of Markdown, if it is one.
func unfenced(text string) string {
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	_, inner, line := strings.Cut(inner, "\n")
	if !ok || !line {
		return text
	}
	return strings.TrimSpace(inner)
}

// unwrapped returns the value of the placeholder, if there is nothing but that.
func unwrapped(text string) string {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &o) != nil || len(o) != 1 || o[placeholder] == nil {
		return text
	}
	return strings.TrimSpace(unquoted(string(o[placeholder])))
}

// unquoted returns the text that a JSON string says; what is none, as it is.
func unquoted(text string) string {
	var s string
	if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}

// properties returns those at the root of a schema.
func properties(schema json.RawMessage) map[string]json.RawMessage {
	var root struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	return root.Properties
}

// takesString reports whether a schema says that it takes strings.
func takesString(schema json.RawMessage) bool {
	var one struct {
		Type string `json:"type"`
	}
	var many struct {
		Type []string `json:"type"`
	}
	return json.Unmarshal(schema, &one) == nil && one.Type == "string" ||
		json.Unmarshal(schema, &many) == nil && slices.Contains(many.Type, "string")
}
