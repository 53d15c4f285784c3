package metatools

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/registry"
)

// JSON returns a tool as it is listed: as its server sent it, with another name where that
// is needed, if nothing of it was changed here.
func JSON(d *registry.Definition, name string) json.RawMessage {
	if d.Raw != nil {
		if name == d.Origin.Tool {
			return d.Raw
		}
		return message.WithMember(d.Raw, "name", message.Quoted(name))
	}
	annotations := d.RawAnnotations
	if annotations == nil && d.Annotations != nil {
		annotations = message.Marshal(d.Annotations)
	}
	return message.Marshal(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  json.RawMessage `json:"annotations,omitempty"`
	}{name, d.Title, d.Description, d.InputSchema, d.OutputSchema, annotations})
}

// Mark returns a tool with a member in its _meta, unless that has one of the name.
func Mark(tool json.RawMessage, key string, value []byte) json.RawMessage {
	if jsonscan.Member(tool, "_meta", key) != nil {
		return tool
	}
	return message.WithMeta(tool, key, value)
}

// AlwaysLoad has clients that search among tools themselves keep this one in sight.
func AlwaysLoad(tool json.RawMessage) json.RawMessage {
	return Mark(tool, "anthropic/alwaysLoad", []byte("true"))
}
