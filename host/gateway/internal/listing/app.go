package listing

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
)

// WithPageAddress puts an address in the place of the URI by which a tool names its page, as MCP Apps and others do.
func WithPageAddress(server string, tool json.RawMessage) json.RawMessage {
	meta := message.Member(tool, "_meta")
	if meta == nil {
		return tool
	}
	at := func(in json.RawMessage, key string) json.RawMessage {
		if uri, ok := message.Text(in, key); ok {
			return message.WithMember(in, key, message.Quoted(content.Address(server, uri)))
		}
		return in
	}
	meta = at(at(meta, "ui/resourceUri"), "openai/outputTemplate")
	if ui := message.Member(meta, "ui"); ui != nil {
		meta = message.WithMember(meta, "ui", at(ui, "resourceUri"))
	}
	return message.WithMember(tool, "_meta", meta)
}
