package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// createSchema has an order and numbers that no re-encoding would keep.
const createSchema = `{"type":"object","properties":{"title":{"type":"string"},"n":{"maximum":9007199254740993.00}},"additionalProperties":false}`

// notesServer returns a server whose tool "create" reports its progress and
// answers with its arguments and mark.
func notesServer(mark string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{
		Name:        "create",
		Title:       "Create",
		InputSchema: json.RawMessage(createSchema),
		Annotations: &sdk.ToolAnnotations{IdempotentHint: true},
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			for i := range 3 {
				if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1)}); err != nil {
					return nil, err
				}
			}
		}
		return &sdk.CallToolResult{
			Content:           []sdk.Content{&sdk.TextContent{Text: mark + string(req.Params.Arguments)}},
			StructuredContent: json.RawMessage(`{"n":9007199254740993}`),
		}, nil
	})
	s.AddTool(&sdk.Tool{Name: "fail", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := servedText("no such note")
		res.IsError = true
		return res, nil
	})
	return s
}

// connect lists the tools of server in r, through a new client.
func connect(t *testing.T, r *registry.Registry, server *sdk.Server) (*mcp.Client, registry.Diff) {
	t.Helper()
	c := mcp.NewClient("notes", &transport.Pipe{Serve: server.Run}, nil)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	listed := assert.Value(c.Tools(t.Context()))(t)
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote("notes", tool, c.CallTool))
	}
	return c, mustReplace(t, r, "notes", tools...)
}

func TestRemoteCalls(t *testing.T) {
	r := registry.New(nil)
	_, diff := connect(t, r, notesServer("one "))
	if !slices.Equal(diff.Added, []string{"notes__create", "notes__fail"}) {
		t.Fatalf("diff = %+v", diff)
	}
	create, _ := r.Snapshot().Lookup("notes__create")
	if d := create.Definition(); string(d.InputSchema) != createSchema || d.OutputSchema != nil || d.Title != "Create" || !d.Annotations.IdempotentHint {
		t.Errorf("definition = %+v with input schema\n%s", d, d.InputSchema)
	}

	var progress []float64
	ctx := registry.WithProgress(t.Context(), func(p *mcp.ProgressParams) { progress = append(progress, p.Progress) })
	res := assert.Value(r.Call(ctx, "notes__create", json.RawMessage(`{"title":"x","n":9007199254740993}`)))(t)
	assert.Equal(t, textOf(t, res), `one {"title":"x","n":9007199254740993}`, "result =")
	if raw, _ := res.StructuredContent.(json.RawMessage); string(raw) != `{"n":9007199254740993}` {
		t.Errorf("structured content = %v", res.StructuredContent)
	}
	if !slices.Equal(progress, []float64{1, 2, 3}) {
		t.Errorf("progress = %v", progress)
	}

	if res, err := r.Call(t.Context(), "notes__fail", nil); err != nil || !res.IsError || textOf(t, res) != "no such note" {
		t.Errorf("a failing tool: %+v, %v", res, err)
	}
	for _, args := range []string{"", "null", " null "} {
		if res, err := create.Call(t.Context(), json.RawMessage(args)); err != nil || textOf(t, res) != "one {}" {
			t.Errorf("Call(%q) = %v, %v", args, res, err)
		}
	}

	renamed := assert.Value(registry.With(create, func(d *registry.Definition) { d.Name, d.Origin.Tool = "note", "note" }))(t)
	if res, err := renamed.Call(t.Context(), nil); err != nil || textOf(t, res) != "one {}" {
		t.Errorf("Call of a renamed tool = %v, %v", res, err)
	}
}

// A server comes back, with the same tools, behind another client.
func TestRemoteAfterARenewedClient(t *testing.T) {
	r := registry.New(nil)
	first, _ := connect(t, r, notesServer("one "))
	before := r.Snapshot()
	_, diff := connect(t, r, notesServer("two "))
	if diff.Added != nil || diff.Removed != nil || diff.Changed != nil || r.Snapshot().Version() != before.Version() {
		t.Errorf("diff = %+v, version %d after %d", diff, r.Snapshot().Version(), before.Version())
	}
	assert.OK(t, first.Close())
	if res, err := r.Call(t.Context(), "notes__create", nil); err != nil || textOf(t, res) != "two {}" {
		t.Errorf("Call = %v, %v; want the new server's answer", res, err)
	}
	stale, _ := before.Lookup("notes__create")
	if _, err := stale.Call(t.Context(), nil); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("Call of the old tool = %v, want ErrClosed", err)
	}
}

func TestRemoteDefinition(t *testing.T) {
	const input = `{ "type":"object", "properties": {"b":{},"a":{}}, "n": 1.00 }`
	const output = `{"type" : "object"}`
	tool := &mcp.Tool{
		Name:         "create",
		Title:        "Create",
		Description:  "Make a note",
		InputSchema:  json.RawMessage(input),
		OutputSchema: json.RawMessage(output),
		Annotations:  &mcp.ToolAnnotations{Title: "Note", DestructiveHint: ptr(false)},
	}
	d := registry.Remote("notes", tool, new(mcp.Client).CallTool).Definition()

	// Whatever happens to the server's tool later, the definition stands.
	tool.Name, tool.Annotations.Title = "x", "x"
	*tool.Annotations.DestructiveHint = true
	tool.InputSchema[0] = 'x'

	if d.Name != "notes__create" || d.Title != "Create" || d.Description != "Make a note" || d.Origin != (registry.Origin{Server: "notes", Tool: "create"}) {
		t.Errorf("definition = %+v", d)
	}
	if string(d.InputSchema) != input || string(d.OutputSchema) != output {
		t.Errorf("schemas = %s and %s", d.InputSchema, d.OutputSchema)
	}
	if a := d.Annotations; a.Title != "Note" || *a.DestructiveHint || a.OpenWorldHint != nil {
		t.Errorf("annotations = %+v", a)
	}
}

func TestRemoteSchemas(t *testing.T) {
	const absent = `{"type":"object"}`
	for what, test := range map[string]struct {
		schema        json.RawMessage
		input, output string
	}{
		"nil":   {nil, absent, ""},
		"empty": {json.RawMessage{}, absent, ""},
		"null":  {json.RawMessage(" null"), absent, ""},
		"true":  {json.RawMessage("true"), "true", "true"},
	} {
		d := registry.Remote("s", &mcp.Tool{Name: "a", InputSchema: test.schema, OutputSchema: test.schema}, new(mcp.Client).CallTool).Definition()
		if string(d.InputSchema) != test.input {
			t.Errorf("%s: got the input schema %s, want %s", what, d.InputSchema, test.input)
		}
		if string(d.OutputSchema) != test.output {
			t.Errorf("%s: got the output schema %s, want %s", what, d.OutputSchema, test.output)
		}
	}
}

func TestRemoteOfNothing(t *testing.T) {
	if tool := registry.Remote("s", &mcp.Tool{}, nil); tool != nil {
		t.Errorf("Remote without a client = %v", tool)
	}
	if tool := registry.Remote("s", nil, new(mcp.Client).CallTool); tool != nil {
		t.Errorf("Remote without a tool = %v", tool)
	}
}
