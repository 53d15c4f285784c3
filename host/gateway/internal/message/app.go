package message

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// WithPage returns a tool with another URI of its page, as MCP Apps and others name it.
func WithPage(tool json.RawMessage, address func(uri string) string) json.RawMessage {
	meta := jsonscan.Member(tool, "_meta")
	if meta == nil {
		return tool
	}
	at := func(in json.RawMessage, key string) json.RawMessage {
		if uri, ok := Text(in, key); ok {
			return WithMember(in, key, Quoted(address(uri)))
		}
		return in
	}
	meta = at(at(meta, "ui/resourceUri"), "openai/outputTemplate")
	if ui := jsonscan.Member(meta, "ui"); ui != nil {
		meta = WithMember(meta, "ui", at(ui, "resourceUri"))
	}
	return WithMember(tool, "_meta", meta)
}
