package registry

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// A RemoteCall calls a tool by its name at the server, as [mcp.Client.CallTool]
// does.
type RemoteCall func(ctx context.Context, tool string, args json.RawMessage, opts *mcp.CallToolOptions) (*mcp.CallToolResult, error)

// Remote returns a tool of an MCP server. It is named as by the zero [names.Names]; a
// registry with other Names gives it another name. Its calls are made by call, such as
// the CallTool of an [mcp.Client], with the progress function of [WithProgress] if there
// is one. A server's result is returned as it came.
//
// Annotations are those of the tool as the server sent them, byte for byte, see
// [mcp.Client.RawAnnotations]; nil if that is not known. Remote copies what it needs of t.
// The schemas are kept byte for byte; a missing input schema becomes {"type":"object"}.
// Remote returns nil if t or call is nil.
func Remote(server string, t *mcp.Tool, annotations json.RawMessage, call RemoteCall) Tool {
	if t == nil || call == nil {
		return nil
	}
	input := schemaBytes(t.InputSchema, json.RawMessage(`{"type":"object"}`))
	name, _ := names.Names{}.Name(server, t.Name)
	return &remote{call, t.Name, &Definition{
		Name:           name,
		Title:          t.Title,
		Description:    t.Description,
		InputSchema:    input,
		OutputSchema:   schemaBytes(t.OutputSchema, nil),
		Annotations:    cloneAnnotations(t.Annotations),
		RawAnnotations: bytes.Clone(annotations),
		Origin:         Origin{Server: server, Tool: t.Name},
		derived:        true,
	}}
}

type remote struct {
	call RemoteCall
	name string // at the server
	def  *Definition
}

func (t *remote) Definition() *Definition { return t.def }

func (t *remote) redefine(def *Definition) Tool { return &remote{t.call, t.name, def} }

func (t *remote) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	if isNull(args) {
		args = nil
	}
	var opts *mcp.CallToolOptions
	if fn := progressOf(ctx); fn != nil {
		opts = &mcp.CallToolOptions{Progress: fn}
	}
	return t.call(ctx, t.name, args, opts)
}

// schemaBytes returns the JSON of a schema, or absent if there is none. A schema
// that cannot be encoded comes back as JSON null, which no registry lists.
func schemaBytes(schema any, absent json.RawMessage) json.RawMessage {
	if schema == nil {
		return absent
	}
	// A copy, so that the definition does not keep a whole page of the server's
	// list alive.
	if raw, ok := schema.(json.RawMessage); ok {
		if len(raw) == 0 || isNull(raw) {
			return absent
		}
		return bytes.Clone(raw)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return json.RawMessage("null")
	}
	if string(raw) == "null" { // a typed nil
		return absent
	}
	return raw
}
