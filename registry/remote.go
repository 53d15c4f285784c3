package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// maxPage bounds the URI of an app, in bytes.
const maxPage = 2 << 10

// appOf reads what a server says of a tool and its apps (MCP Apps 2026-01-26). A visibility that is no list says nothing.
func appOf(meta mcp.Meta) (page string, appOnly, modelOnly bool) {
	ui, _ := meta["ui"].(map[string]any)
	page, ok := ui["resourceUri"].(string)
	if !ok {
		page, _ = meta["ui/resourceUri"].(string) // the older key
	}
	if !strings.HasPrefix(page, "ui://") || len(page) > maxPage {
		page = ""
	}
	if visibility, ok := ui["visibility"].([]any); ok {
		appOnly, modelOnly = !slices.Contains(visibility, any("model")), !slices.Contains(visibility, any("app"))
	}
	return page, appOnly, modelOnly
}

// A RemoteCall calls a tool by its name at the server, as [mcp.Client.CallTool]
// does.
type RemoteCall func(ctx context.Context, tool string, args json.RawMessage, opts *mcp.RequestOptions) (*mcp.CallToolResult, error)

// Remote returns a tool of an MCP server. It is named as by [names.ServerTool]; a
// registry with another scheme gives it another name. Its calls are made by call, such as
// the CallTool of an [mcp.Client], with the progress function of [WithProgress] if there
// is one. A server's result is returned as it came.
//
// Remote copies what it needs of t. The schemas are kept byte for byte; a missing input
// schema becomes {"type":"object"}. If a field of t is not as t.Raw says the fields count,
// and the definition has neither Raw nor RawAnnotations. Remote returns nil if t or call is
// nil.
func Remote(server string, t *mcp.Tool, call RemoteCall) Tool {
	if t == nil || call == nil {
		return nil
	}
	name := names.ServerTool.Name(server, t.Name)
	def := &Definition{Name: name, Title: t.Title, Description: t.Description, Origin: Origin{Server: server, Tool: t.Name}, derived: true}
	def.page, def.appOnly, def.modelOnly = appOf(t.Meta)
	if sent, ok := asSent(t); ok { // a copy: t can be a part of a whole page of the server's list
		def.InputSchema, def.OutputSchema, def.Annotations = sent.InputSchema, sent.OutputSchema, sent.Annotations
		def.Raw = sent.Raw
		if value := jsonscan.Member(sent.Raw, "annotations"); string(value) != "null" {
			def.RawAnnotations = value
		}
	} else {
		def.InputSchema, def.OutputSchema, def.Annotations = bytes.Clone(t.InputSchema), bytes.Clone(t.OutputSchema), cloneAnnotations(t.Annotations)
	}
	if len(def.InputSchema) == 0 || isNull(def.InputSchema) {
		def.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if len(def.OutputSchema) == 0 || isNull(def.OutputSchema) {
		def.OutputSchema = nil
	}
	return &remote{call, t.Name, def}
}

// asSent returns a tool as its server sent it, if that is known and no field of the tool
// was changed since.
func asSent(t *mcp.Tool) (sent mcp.Tool, ok bool) {
	if t.Raw == nil || sent.UnmarshalJSON(t.Raw) != nil {
		return sent, false
	}
	compared := *t
	compared.Raw = sent.Raw
	return sent, reflect.DeepEqual(&compared, &sent)
}

type remote struct {
	call RemoteCall
	name string // at the server
	def  *Definition
}

func (t *remote) Definition() *Definition { return t.def }

func (t *remote) redefine(def *Definition) Tool { return &remote{t.call, t.name, def} }

func (t *remote) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return t.callWith(ctx, args, false)
}

func (t *remote) callWith(ctx context.Context, args json.RawMessage, skipContent bool) (*mcp.CallToolResult, error) {
	if isNull(args) {
		args = nil
	}
	return t.call(ctx, t.name, args, callOptions(ctx, skipContent))
}
